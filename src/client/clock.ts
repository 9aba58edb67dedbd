/** Time as a parameter: tests move their own. */
export interface Clock {
  /** Milliseconds since the epoch: for the times that are sent. It may be set at any moment. */
  now(): number;
  /** Milliseconds since an arbitrary moment, for waits and intervals. It is never set. */
  steadyNow(): number;
  /**
   * Calls back once; never after more than `longestDelayMs`. A pending timer keeps the process alive, so
   * there is one only while calls wait.
   */
  after(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Node's longest timer, almost 25 days. Node turns anything longer into 1 ms. */
export const longestDelayMs = 2_147_483_647;

/**
 * The wait before a batch is sent again, after so many failed attempts: from 0.1 s, doubling to 5 s, minus a
 * random part of up to half, so that clients do not all come back at once.
 */
export function backoffMs(failures: number, random: () => number): number {
  const mostMs = Math.min(100 * 2 ** Math.min(failures - 1, 10), 5_000);
  return mostMs * (1 - random() / 2);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  steadyNow: () => performance.now(),
  after: (delayMs, callback) => {
    if (delayMs > longestDelayMs) return { cancel: () => undefined };
    const timer = setTimeout(callback, delayMs);
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};
