import type { Clock, Timer } from '../../ops/clock.ts';
import type { PartitionQueue, Slice } from './partition-queue.ts';

/**
 * Kafka refuses batches above `max.message.bytes`, 1 MB by default. It measures after compression, but
 * incompressible data grows a little.
 */
const maxPartitionBytes = 900 * 1024;
/**
 * A request's cost for a partition is spread over this many records, so a larger number saves little more.
 * All of them are encoded without a pause, so it must not be much larger.
 */
const maxPartitionRecords = 500;
const fullFlush = { records: 1_000, bytes: 2 * 1024 * 1024 };

export interface FlushLineOptions {
  readonly clock: Clock;
  /** The time for which records that arrive at `now` wait for others. */
  waitMs(now: number): number;
  /** One slice for each partition. */
  onFlush(slices: readonly Slice[]): void;
}

/** Queues with records and nothing in flight, in line for the next flush. A full flush does not wait. */
export class FlushLine {
  readonly #options: FlushLineOptions;
  /** The queue that has waited longest comes first. */
  readonly #queues: PartitionQueue[] = [];
  #records = 0;
  #bytes = 0;
  #timer: Timer | undefined;
  #isNext = false;
  #isClosed = false;

  constructor(options: FlushLineOptions) {
    this.#options = options;
  }

  join(queue: PartitionQueue): void {
    this.#queues.push(queue);
    this.grow(queue.length, queue.bytes);
  }

  /** A queue that is in line holds so many more. */
  grow(records: number, bytes: number): void {
    this.#records += records;
    this.#bytes += bytes;
    if (this.#isNext) return;
    const isFull = this.#records >= fullFlush.records || this.#bytes >= fullFlush.bytes;
    if (isFull) this.#flushNext();
    else if (this.#timer === undefined) this.#flushLater();
  }

  /** Takes a queue that held so many out of the line. */
  leave(queue: PartitionQueue, records: number, bytes: number): void {
    this.#queues.splice(this.#queues.indexOf(queue), 1);
    this.#records -= records;
    this.#bytes -= bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #flushLater(): void {
    const { clock } = this.#options;
    const waitMs = this.#options.waitMs(clock.now());
    if (waitMs > 0)
      this.#timer = clock.after(waitMs, () => {
        this.#flush();
      });
    else this.#flushNext();
  }

  /** After a turn, because the caller may be about to add more records. */
  #flushNext(): void {
    this.#isNext = true;
    setImmediate(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isNext = false;
    if (this.#isClosed) return;
    const slices = this.#take();
    if (slices.length === 0) return;
    this.#options.onFlush(slices);
    // One flush after the other, so that answers and other work come between.
    if (this.#queues.length > 0) this.#flushNext();
  }

  /**
   * Takes from the queues at the front until the flush is full. A queue with records left joins the line
   * again later.
   */
  #take(): Slice[] {
    const slices: Slice[] = [];
    let records = 0;
    let bytes = 0;
    for (const queue of this.#queues) {
      if (records >= fullFlush.records || bytes >= fullFlush.bytes) break;
      this.#records -= queue.length;
      this.#bytes -= queue.bytes;
      const slice = queue.take(maxPartitionRecords, maxPartitionBytes);
      slices.push(slice);
      records += slice.records.length;
      bytes += slice.bytes;
    }
    this.#queues.splice(0, slices.length);
    return slices;
  }
}

/**
 * A request costs this process, the broker and the readers a fixed amount of CPU time, and a smaller amount
 * for each partition in it. After a flush, the next one waits in proportion to that cost: a single record is
 * sent at once, a steady stream to many partitions some milliseconds later, in batches. Full flushes never
 * wait.
 */
export class FlushPace {
  #nextAt = -Infinity;

  /** The time for which records that arrive at `now` should wait for others. */
  waitMs(now: number): number {
    // After the clock was set back, the wait could otherwise last until the clock has caught up.
    return Math.min(maxWaitMs, Math.max(0, this.#nextAt - now));
  }

  flushed(now: number, partitions: number): void {
    const waitMs = waitPerFlushMs + partitions * waitPerPartitionMs;
    this.#nextAt = Math.min(Math.max(now, this.#nextAt) + waitMs, now + maxWaitMs);
  }
}

const waitPerFlushMs = 2;
const waitPerPartitionMs = 0.5;
const maxWaitMs = 25;
