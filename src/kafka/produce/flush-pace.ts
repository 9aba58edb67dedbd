/**
 * A call costs this process, the broker and whoever reads it a fixed amount, and another one for each
 * partition in it: 0.5 ms and 0.1 to 0.5 ms of CPU time in all (docs/design.md). After a flush, the next one
 * waits in proportion to what that one cost: one record now and then goes out at once, a steady stream to
 * many partitions some milliseconds later, in batches. Full batches never wait.
 */
const waitPerCallMs = 2;
const waitPerPartitionMs = 0.5;
const maxWaitMs = 25;

export class FlushPace {
  #nextAt = -Infinity;

  /** How long what arrives at `now` should wait for company. */
  waitMs(now: number): number {
    // A clock that was set back would have it wait until the clock has caught up.
    return Math.min(maxWaitMs, Math.max(0, this.#nextAt - now));
  }

  flushed(now: number, partitions: number): void {
    const waitMs = waitPerCallMs + partitions * waitPerPartitionMs;
    this.#nextAt = Math.min(Math.max(now, this.#nextAt) + waitMs, now + maxWaitMs);
  }
}
