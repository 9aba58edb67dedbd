import type { TestContext } from 'node:test';

/** Lets half an hour pass by the steady clock in no time. Timers that run go on as they were. */
export function passTime(t: TestContext): (ms: number) => void {
  const now = performance.now.bind(performance);
  let passedMs = 0;
  t.mock.method(performance, 'now', () => now() + passedMs);
  return (ms) => {
    passedMs += ms;
  };
}
