import { setTimeout as delay } from 'node:timers/promises';

/** A machine that others use too takes several times as long; a test that passes never waits for it. */
export const usualMs = 90_000;

/**
 * Waits until `check` no longer throws and returns its result; fails with its last error after
 * `timeoutMs`. The only way in which a test waits for something that reports no completion. What takes long
 * itself, such as a command, is tried in a third of the time once that has lasted: others need the processor, too.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  timeoutMs: number = usualMs,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  const startedAt = performance.now();
  for (;;) {
    const begunAt = performance.now();
    try {
      return await check();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
    }
    const now = performance.now();
    await delay(Math.max(20, Math.min(2 * (now - begunAt), (now - startedAt) / 4)));
  }
}
