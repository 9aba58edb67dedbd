import { asError } from '../errors.ts';
import { LogThrottle } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { waitUnlessAborted } from '../ops/wait.ts';

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

/** One line, without the stacks that kafkajs puts into messages elsewhere. */
export function reasonOf(error: unknown): string {
  const message = asError(error).message;
  return message.split('\n', 1)[0] ?? '';
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
