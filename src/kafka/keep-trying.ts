import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../ops/log.ts';

/** Between two attempts at something that Kafka refuses or is not there for. */
const retryMs = 1_000;
/** An outage of an hour is worth a line now and then, not 3,600. */
const sayAgainMs = 10_000;

/**
 * Does `attempt` until it succeeds, and says so in one line when it does not. Undefined once
 * `signal` is aborted.
 */
export async function keepTrying<T>(
  attempt: () => Promise<T>,
  options: { readonly what: string; readonly log: Logger; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const { what, log, signal } = options;
  let saidAt = -Infinity;
  for (let attempts = 1; !signal.aborted; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() - saidAt >= sayAgainMs && !isAborted(signal)) {
        saidAt = Date.now();
        log.warn({ attempts, reason: reasonOf(error) }, `${what}; trying again until it works`);
      }
    }
    await pauseBeforeRetry(signal);
  }
  return undefined;
}

/** Ends at once when `signal` is aborted. */
async function pauseBeforeRetry(signal: AbortSignal): Promise<void> {
  // Not the clock's timer: a process that only waits for Kafka must stay alive.
  await delay(retryMs, undefined, { signal }).catch(() => undefined);
}

/** One line; kafkajs's messages come with stacks elsewhere, never here. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0] ?? '';
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
