import { setTimeout as delay } from 'node:timers/promises';

/** Until the work, if any, is done, or for so long: it goes on by itself then. Keeps no process alive. */
export async function waitAtMost(
  timeoutMs: number,
  work: Promise<unknown> | undefined,
): Promise<void> {
  await Promise.race([work, delay(timeoutMs, undefined, { ref: false })]);
}
