import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for the work, if any, but no longer than `ms`; the work then continues by itself. Does not keep the
 * process alive.
 */
export async function waitAtMost(
  timeoutMs: number,
  work: Promise<unknown> | undefined,
): Promise<void> {
  await Promise.race([work, delay(timeoutMs, undefined, { ref: false })]);
}

/**
 * Resolves after that time, or at once when the signal is aborted. Keeps the process alive, which may have
 * nothing else to wait for.
 */
export async function waitUnlessAborted(waitMs: number, signal: AbortSignal): Promise<void> {
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}

/** Time for records in flight when a command is stopped: longer than an attempt to write takes. */
export const closeMs = 30_000;

/** Resolves when records in flight at the signal have had enough time, also while Kafka is unreachable. */
export async function timeToEnd(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  await delay(closeMs, undefined, { ref: false });
}
