import type { Clock, Timer } from '../../ops/clock.ts';
import { fullBatch, takeBatch, type Batch } from './batch.ts';
import type { PartitionQueue } from './partition-queue.ts';

export interface FlushLineOptions {
  readonly clock: Clock;
  /** How long what arrives at `now` waits for company. */
  waitMs(now: number): number;
  onBatch(batch: Batch): void;
}

/** Queues with records and nothing in flight, in line for the next call; a full batch waits for nothing. */
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
    const isFull = this.#records >= fullBatch.records || this.#bytes >= fullBatch.bytes;
    if (isFull) this.#flushNext();
    else if (this.#timer === undefined) this.#flushLater();
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
    const batch = takeBatch(this.#queues);
    if (batch.length === 0) return;
    for (const { queue, records, bytes } of batch) {
      this.#records -= records.length + queue.length;
      this.#bytes -= bytes + queue.bytes;
    }
    this.#options.onBatch(batch);
    // One call after the other, so that answers and other work come between.
    if (this.#queues.length > 0) this.#flushNext();
  }
}
