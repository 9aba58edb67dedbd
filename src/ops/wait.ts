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
