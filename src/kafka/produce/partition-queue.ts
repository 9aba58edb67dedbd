import type { PostriderError } from '../../errors.ts';
import type { HeaderValue } from '../record.ts';
import type { Sequence } from './sequence.ts';

/** A waiting record, in the shape that batches are written from, so that it need not be copied. */
export interface QueuedRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers: Readonly<Record<string, HeaderValue>>;
  readonly partition: number;
  /** What the partition is computed from: the key, unless another one was given. */
  readonly partitionKey: Buffer | string | null;
  /** Before compression, at most. */
  readonly bytes: number;
  readonly mayWait: boolean;
  /** The caller named the partition. */
  readonly isPlaced: boolean;
  readonly done: (refused?: PostriderError) => void;
}

/** Consecutive records of one partition. */
export interface Slice {
  readonly queue: PartitionQueue;
  readonly records: readonly QueuedRecord[];
  readonly bytes: number;
}

/** The waiting records of one partition. To keep order, only one slice is in flight at a time. */
export class PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  /** Bytes of the waiting records. */
  bytes = 0;
  /** A slice was taken and is not settled. */
  isInFlight = false;
  /** The queue is in the line for records that may wait. */
  isPatient = false;
  /** Sequence number of the next record; undefined before the first. */
  sequence: Sequence | undefined;
  #waiting: QueuedRecord[] = [];
  /**
   * Records before it were taken. They are cut off now and then, because `shift` would move all the others.
   */
  #head = 0;
  /** Number of waiting records that should not wait long. */
  #prompt = 0;

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  /** Number of waiting records. */
  get length(): number {
    return this.#waiting.length - this.#head;
  }

  /** One record that may not wait takes the others along. */
  get mayWait(): boolean {
    return this.#prompt === 0;
  }

  push(record: QueuedRecord): void {
    this.#waiting.push(record);
    this.bytes += record.bytes;
    if (!record.mayWait) this.#prompt += 1;
  }

  /**
   * Takes the oldest records up to both limits, but always at least one: a record larger than `maxBytes` goes
   * alone.
   */
  take(maxRecords: number, maxBytes: number): Slice {
    const start = this.#head;
    const limit = Math.min(this.#waiting.length, start + maxRecords);
    let end = start;
    let bytes = 0;
    while (end < limit) {
      const next = this.#waiting[end]?.bytes ?? 0;
      if (end > start && bytes + next > maxBytes) break;
      bytes += next;
      end += 1;
    }
    const records = this.#waiting.slice(start, end);
    for (const { mayWait } of records) if (!mayWait) this.#prompt -= 1;
    this.#head = end;
    if (this.#head * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    this.bytes -= bytes;
    this.isInFlight = true;
    return { queue: this, records, bytes };
  }
}
