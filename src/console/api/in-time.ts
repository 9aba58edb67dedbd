import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError } from './problem.ts';

/**
 * Readings of Kafka that may take long. One that nobody waits for any more counts until it ends: whoever has waited
 * in vain asks again.
 */
export class LongReadings {
  readonly #most: number;
  #running = 0;

  /** @param most at a time */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param read is told when nobody waits for it any more
   * @throws ProblemError 503 while so many are running, and after ten seconds
   */
  async run<T>(read: (over: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#running >= this.#most)
      throw new ProblemError(503, 'Several are being looked up; try again in a moment.');
    const over = new AbortController();
    try {
      return await inTime(this.#counted(() => read(over.signal)));
    } finally {
      over.abort();
    }
  }

  async #counted<T>(read: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await read();
    } finally {
      this.#running -= 1;
    }
  }
}

/** As long as a command of the command line tries. */
const mostMs = 10_000;

/**
 * What Kafka is asked for a request. While Kafka is away its clients try for ever, and a browser would wait with
 * them.
 * @throws ProblemError 503 after ten seconds; the work goes on by itself
 */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = delay(mostMs, undefined, { ref: false, signal: over.signal }).then(() => {
    // Whoever asked has been answered.
    work.catch(() => undefined);
    throw new ProblemError(503, 'Kafka has not answered for ten seconds; try again later.');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}
