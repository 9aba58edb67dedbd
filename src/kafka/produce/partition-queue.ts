import { PostriderError } from '../../errors.ts';
import type { HeaderValue } from '../record.ts';
import type { Sequence } from './sequence.ts';

/** A record whose caller is told once what has become of it. */
export interface UnsettledRecord {
  /** Before compression, at most. */
  readonly bytes: number;
  /** The time at which it was given, by the steady clock; 0 if the producer has no deadline for records. */
  readonly addedMs: number;
  readonly done: (refused?: PostriderError) => void;
  /** `done` was called. The record may still be in flight, if its deadline is over. */
  isSettled: boolean;
}

/** A waiting record, in the shape that batches are written from, so that it need not be copied. */
export interface QueuedRecord extends UnsettledRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers: Readonly<Record<string, HeaderValue>>;
  readonly partition: number;
  /** The text that the partition is computed from: the key, unless another one was given. */
  readonly partitionKey: Buffer | string | null;
  readonly mayWait: boolean;
  readonly elsewhereAfterMs: number | undefined;
  /** The caller named the partition. */
  readonly isPlaced: boolean;
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
  readonly trouble: WriteTrouble = new WriteTrouble();
  /** Bytes of the waiting records. */
  bytes = 0;
  /** The slice that was taken last, until nothing of it is in flight anymore. */
  inFlight: Slice | undefined;
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

  /** Tells whether a record that comes now should go elsewhere at once. */
  turnsAway(record: Pick<QueuedRecord, 'elsewhereAfterMs'>, nowMs: number): boolean {
    if (!this.trouble.isTooLongFor(record, this.bytes, nowMs)) return false;
    return this.inFlight !== undefined || this.length > 0 || !this.trouble.isDueForProbe(nowMs);
  }

  /** Takes out the waiting records that should go elsewhere. To be called while a slice is in flight. */
  takeTurnedAway(nowMs: number): readonly QueuedRecord[] {
    const { trouble, bytes } = this;
    return this.#takeOut((record) => trouble.isTooLongFor(record, bytes, nowMs));
  }

  /**
   * Takes out the waiting records that were added before, and names those in flight, whose callers should wait no
   * longer. A queue with nothing in flight is about to be sent.
   */
  takeAddedBefore(ms: number): readonly QueuedRecord[] {
    if (this.inFlight === undefined) return [];
    const late = this.inFlight.records.filter((each) => !each.isSettled && each.addedMs < ms);
    return late.concat(this.#takeOut(({ addedMs }) => addedMs < ms));
  }

  /** The time at which the oldest record was added whose caller waits; undefined: none waits. */
  get oldestMs(): number | undefined {
    const inFlight = this.inFlight?.records.find(({ isSettled }) => !isSettled);
    return (inFlight ?? this.#waiting[this.#head])?.addedMs;
  }

  #takeOut(isAway: (record: QueuedRecord) => boolean): QueuedRecord[] {
    const waiting = this.#waiting.slice(this.#head);
    const away = waiting.filter(isAway);
    if (away.length === 0) return away;
    this.#waiting = [];
    this.#head = 0;
    this.#prompt = 0;
    this.bytes = 0;
    for (const record of waiting) if (!isAway(record)) this.push(record);
    return away;
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
    this.inFlight = { queue: this, records, bytes };
    return this.inFlight;
  }
}

/** Waiting bytes of a partition that cannot be written, beyond which records that have another place wait no longer. */
const mostWaitingBytes = 1024 * 1024;
/** A partition that cannot be written is tried again with one record, so long after it failed last. */
const probeAfterMs = 10_000;
/** Elections take less, and are no trouble. */
const notableAfterMs = 10_000;
/** A partition that nobody has written to for this long may be well again. */
const forgottenAfterMs = 60_000;

/** Since when a partition, or a whole topic, cannot be written although Kafka answers. */
export class WriteTrouble {
  #sinceMs: number | undefined;
  #failedMs = -Infinity;
  #reason = '';

  /** A batch failed. Without an answer of a broker, that says nothing of the partition: all of Kafka may be away. */
  failed(reason: string, nowMs: number): void {
    if (!isNameOfKafka(reason)) return;
    this.#sinceMs ??= nowMs;
    this.#failedMs = nowMs;
    this.#reason = reason;
  }

  /** Something was written. */
  ended(): void {
    this.#sinceMs = undefined;
  }

  /** Tells whether a record that has another place should be there, and not wait. */
  isTooLongFor(
    { elsewhereAfterMs }: { readonly elsewhereAfterMs: number | undefined },
    waitingBytes: number,
    nowMs: number,
  ): boolean {
    if (this.#sinceMs === undefined || elsewhereAfterMs === undefined) return false;
    return nowMs - this.#sinceMs >= elsewhereAfterMs || waitingBytes > mostWaitingBytes;
  }

  /** Tells whether the next record should be tried, to find out whether the trouble is over. */
  isDueForProbe(nowMs: number): boolean {
    return nowMs - this.#failedMs >= probeAfterMs;
  }

  /** Tells whether somebody should look. */
  isNotable(nowMs: number): boolean {
    if (this.#sinceMs === undefined || nowMs - this.#failedMs > forgottenAfterMs) return false;
    return nowMs - this.#sinceMs >= notableAfterMs;
  }

  /** For the owner of a record that comes back. */
  error(topic: string): PostriderError {
    return new PostriderError('unwritable', `topic ${topic} cannot be written: ${this.#reason}`);
  }
}

/** Errors of connections have names of classes. */
function isNameOfKafka(reason: string): boolean {
  return reason !== 'NETWORK_EXCEPTION' && /^[A-Z][A-Z_]+$/.test(reason);
}
