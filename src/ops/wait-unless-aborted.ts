import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves after that time, or at once when the signal is aborted. Keeps the process alive, which may have
 * nothing else to wait for.
 */
export async function waitUnlessAborted(waitMs: number, signal: AbortSignal): Promise<void> {
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}
