import type { Clock, Timer } from '../../ops/clock.ts';
import type { PartitionQueue, Slice } from './partition-queue.ts';

/**
 * Kafka refuses batches above `max.message.bytes`, 1 MB by default. It measures after compression, but
 * what does not compress grows a little.
 */
const maxPartitionBytes = 900 * 1024;
/**
 * What a partition costs in a request is spread over a hundred records, so beyond that nothing is gained; but
 * all of it is encoded in one go, at 2 to 3 µs a record, and nothing else runs meanwhile.
 */
const maxPartitionRecords = 500;
const fullFlush = { records: 1_000, bytes: 2 * 1024 * 1024 };

export interface FlushLineOptions {
  readonly clock: Clock;
  /** How long what arrives at `now` waits for company. */
  waitMs(now: number): number;
  /** One slice a partition. */
  onFlush(slices: readonly Slice[]): void;
}

/** Queues with records and nothing in flight, in line for the next flush; a full one waits for nothing. */
export class FlushLine {
  readonly #options: FlushLineOptions;
  /** The one that has waited longest first. */
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

  /** A queue that is in line, and held so many, goes without it. */
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

  /** Not at once: whoever gave a record may be about to give the next ones. */
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

  /** From the queues at the front, until it is enough. What a queue keeps stands in line again later. */
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
 * A request costs this process, the broker and whoever reads it a fixed amount, and another one for each
 * partition in it: 0.5 ms and 0.1 to 0.5 ms of CPU time in all (docs/design.md). After a flush, the next one
 * waits in proportion to what that one cost: one record now and then goes out at once, a steady stream to
 * many partitions some milliseconds later, in batches. Full flushes never wait.
 */
export class FlushPace {
  #nextAt = -Infinity;

  /** How long what arrives at `now` should wait for company. */
  waitMs(now: number): number {
    // A clock that was set back would have it wait until the clock has caught up.
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
