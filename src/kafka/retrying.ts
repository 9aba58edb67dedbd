import { setTimeout as delay } from 'node:timers/promises';
import { LogThrottle } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { waitUnlessAborted } from '../ops/wait.ts';
import { failureOf, reasonOf, refusedRight } from './failure.ts';

/** The longest wait of Kafka's own clients, for what costs a broker a question. */
const longestWaitMs = 1_000;

/** The wait before the next request after so many failed ones: from 0.1 s, doubling to the longest, ± 20 %. */
export function backoffMs(
  failures: number,
  longestMs: number = longestWaitMs,
  random: () => number = Math.random,
): number {
  const waitMs = Math.min(100 * 2 ** Math.min(failures - 1, 10), longestMs);
  return waitMs * (0.8 + 0.4 * random());
}

const firstPauseMs = 1_000;
const longestPauseMs = 15_000;

/** The pause before asking again for what Kafka refused so many times in a row. */
export function refusalPauseMs(times: number): number {
  return Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs);
}

/** Pause between two attempts at something that Kafka refuses or is not available for. */
const retryMs = 1_000;
/** Least time between two log lines during an outage. */
const sayAgainMs = 10_000;

/** Repeats `attempt` until it succeeds, and logs failures. Undefined once `signal` is aborted. */
export async function keepTrying<T>(
  attempt: () => Promise<T>,
  options: { readonly what: string; readonly log: Logger; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const { what, log, signal } = options;
  const warnings = new LogThrottle(sayAgainMs);
  for (let attempts = 1; !signal.aborted; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isAborted(signal) && warnings.pass(performance.now()) !== undefined)
        log.warn({ attempts, reason: reasonOf(error) }, `${what}; trying again until it works`);
    }
    await waitUnlessAborted(retryMs, signal);
  }
  return undefined;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

const retryAfterMs = 200;

/** Answers that are temporary, and for how long they are treated so. */
export interface Unsettled {
  readonly forMs: number;
  readonly reasons: readonly string[];
}

/**
 * While any topic of the cluster has no leader yet, kafkajs fails to list them all, sometimes with a
 * TypeError because it swallowed the real error.
 */
export const elections: Unsettled = {
  forMs: 2_000,
  reasons: ['LEADER_NOT_AVAILABLE', 'TypeError'],
};

/** Repeats a request while the answer may be temporary. */
export async function retryWhileUnsettled<T>(
  question: () => Promise<T>,
  { forMs, reasons }: Unsettled = elections,
): Promise<T> {
  const untilMs = performance.now() + forMs;
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (!reasons.includes(failureOf(error).reason) || performance.now() > untilMs) throw error;
      await delay(retryAfterMs);
    }
  }
}

/**
 * A consumer that cannot continue ends the process, and a supervisor starts it again.
 * @param what the topics it reads, for people
 */
export function endProcess(log: Logger, error: Error, what: string): void {
  log.error(
    { what, reason: refusedRight(error, what) ?? reasonOf(error) },
    'A Kafka consumer failed and cannot continue; the process ends',
  );
  process.exit(1);
}
