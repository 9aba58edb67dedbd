/** Time as a parameter: tests move their own. */
export interface Clock {
  /** Milliseconds since the epoch: for the times that are sent. It may be set at any moment. */
  now(): number;
  /** Milliseconds since a moment of its own: for waits and intervals. Nobody sets it. */
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

/** Node's longest timer, almost 25 days: it makes 1 ms of anything longer. */
export const longestDelayMs = 2_147_483_647;

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
