/**
 * Time as a parameter: production passes `systemClock`, and simulations pass one that they advance
 * themselves.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once, no earlier than `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

/**
 * For time spans that decisions depend on, because `now` may be set in the middle of one, forward or back.
 */
export interface SteadyClock extends Clock {
  /** Milliseconds since an arbitrary moment, whole numbers as those of `now`. This clock is never set. */
  steadyNow(): number;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: SteadyClock = {
  now: () => Date.now(),
  steadyNow: () => Math.floor(performance.now()),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};
