/** Time as a parameter: production passes `systemClock`, simulations one that they move themselves. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once, no earlier than `delayMs` from now. A pending timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

/** For durations that something is decided by: `now` may be set in the middle of one, forward or back. */
export interface SteadyClock extends Clock {
  /** Milliseconds since a moment of its own, whole ones like `now`'s, which may be added to; nobody sets it. */
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
