import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until `check` no longer throws and returns its result; fails with its last error after
 * `timeoutMs`. The only way in which a test waits for something that reports no completion.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  timeoutMs: number = 30_000,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
    }
    await delay(20);
  }
}
