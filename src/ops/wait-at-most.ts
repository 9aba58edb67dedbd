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
