import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError } from './problem.ts';

/** Commands of the command line try as long. */
const mostMs = 10_000;

const kafkaIsAway = 'Kafka has not answered for ten seconds; try again later.';

/**
 * Bounds a question to Kafka for a request. While Kafka is away its clients try for ever, and whoever asked would wait
 * with them.
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
