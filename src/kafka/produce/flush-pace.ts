/**
 * A batch costs kafkajs and the broker a fixed amount for each partition in it. After a flush, the next
 * one waits in proportion to that cost, which bounds its share of the CPU to about a tenth: one record
 * now and then goes out at once, a steady stream to many partitions a few milliseconds later, in
 * batches. Full batches never wait.
 */
const waitPerPartitionMs = 0.4;
const maxWaitMs = 25;

export class FlushPace {
  #nextAt = -Infinity;

  /** How long what arrives at `now` should wait for company. */
  waitMs(now: number): number {
    // A clock that was set back would have it wait until the clock has caught up.
    return Math.min(maxWaitMs, Math.max(0, this.#nextAt - now));
  }

  flushed(now: number, partitions: number): void {
    const earliest = Math.max(now, this.#nextAt) + partitions * waitPerPartitionMs;
    this.#nextAt = Math.min(earliest, now + maxWaitMs);
  }
}
