import type { PostriderError } from '../../errors.ts';
import type { HeaderValue } from '../record.ts';
import type { Sequence } from './sequence.ts';

/** A record that waits, in the shape that batches are written from, so that it need not be copied. */
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
  /** Whoever gave it named the partition. */
  readonly isPlaced: boolean;
  readonly done: (refused?: PostriderError) => void;
}

/** Consecutive records of one partition. */
export interface Slice {
  readonly queue: PartitionQueue;
  readonly records: readonly QueuedRecord[];
  readonly bytes: number;
}

/** What waits for one partition. For order, only one slice of it is on its way at a time. */
export class PartitionQueue {
  readonly topic: string;
  readonly partition: number;
  /** Of what waits. */
  bytes = 0;
  /** A slice was taken and has not landed. */
  isInFlight = false;
  /** It stands in the line of those that may wait. */
  isPatient = false;
  /** Of the next record that Kafka takes; undefined: it has taken none yet. */
  sequence: Sequence | undefined;
  #waiting: QueuedRecord[] = [];
  /** Those before it are taken; cut off now and then, because `shift` moves all the others. */
  #head = 0;
  /** Of those that wait, how many should not. */
  #prompt = 0;

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  /** How many records wait. */
  get length(): number {
    return this.#waiting.length - this.#head;
  }

  /** One record that may not takes the others along. */
  get mayWait(): boolean {
    return this.#prompt === 0;
  }

  push(record: QueuedRecord): void {
    this.#waiting.push(record);
    this.bytes += record.bytes;
    if (!record.mayWait) this.#prompt += 1;
  }

  /** The oldest records up to both limits, but always one: a record larger than `maxBytes` goes alone. */
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
