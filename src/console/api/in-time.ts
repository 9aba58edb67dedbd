import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError } from './problem.ts';

/**
 * Readings of Kafka that may take long. One that nobody waits for any more counts until it ends: whoever has waited
 * in vain asks again.
 */
export class LongReadings {
  readonly #most: number;
  /** For whom each is. */
  readonly #running = new Set<string | symbol>();

  /** @param most at a time */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param read is told when nobody waits for it any more
   * @param customer has one at a time, or a few requests of one would keep all others waiting
   * @throws ProblemError 503 while so many are running, and after ten seconds
   */
  async run<T>(read: (over: AbortSignal) => Promise<T>, customer?: string): Promise<T> {
    const whose = customer ?? Symbol('of staff');
    if (this.#running.size >= this.#most || this.#running.has(whose))
      throw new ProblemError(503, 'Several are being looked up; try again in a moment.');
    const over = new AbortController();
    try {
      return await inTime(this.#counted(whose, () => read(over.signal)));
    } finally {
      over.abort();
    }
  }

  async #counted<T>(whose: string | symbol, read: () => Promise<T>): Promise<T> {
    this.#running.add(whose);
    try {
      return await read();
    } finally {
      this.#running.delete(whose);
    }
  }
}

/** As long as a command of the command line tries. */
const mostMs = 10_000;

const kafkaIsAway = 'Kafka has not answered for ten seconds; try again later.';

/**
 * What Kafka is asked for a request. While Kafka is away its clients try for ever, and a browser would wait with
 * them.
 * @param late what whoever asked is told after ten seconds
 * @throws ProblemError 503 after ten seconds; the work goes on by itself
 */
export async function inTime<T>(work: Promise<T>, late: string = kafkaIsAway): Promise<T> {
  const over = new AbortController();
  const given = delay(mostMs, undefined, { ref: false, signal: over.signal }).then(() => {
    // Whoever asked has been answered.
    work.catch(() => undefined);
    throw new ProblemError(503, late);
  });
  try {
    return await Promise.race([work, given]);
  } finally {
    over.abort();
    given.catch(() => undefined);
  }
}
