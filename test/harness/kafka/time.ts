/** The clock and the timers of brokers in memory: those of this process, or simulated ones. */
export interface KafkaTime {
  /** What the brokers' clocks show. */
  readonly nowMs: number;
  /** How much time has passed since the start; less than `nowMs` says where simulated time leaves some out. */
  readonly livedMs: number;
  readonly random: () => number;
  /** A timer is cancelled by disposing of it. */
  after(delayMs: number, callback: () => void): Disposable;
  /** As `after`, for what only looks whether something has happened. */
  pollAfter(delayMs: number, callback: () => void): Disposable;
}

/** No timer keeps the process running. */
const after = (delayMs: number, callback: () => void): Disposable =>
  setTimeout(callback, delayMs).unref();

export const realTime: KafkaTime = {
  get nowMs() {
    return Date.now();
  },
  get livedMs() {
    return performance.now();
  },
  random: Math.random,
  after,
  pollAfter: after,
};
