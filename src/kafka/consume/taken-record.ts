import type { IncomingRecord, TopicPartition } from '../record.ts';

/** A partition that this process takes records of, as its stage sees it. */
export interface TakenPartition extends TopicPartition {
  /** The part of its window that is taken. At 1, nothing more of it is taken. */
  readonly fullness: number;
  /** The number of its records in flight, with those that were set aside. */
  readonly inFlight: number;
  /** The number of its records that were set aside. */
  readonly aside: number;
}

/**
 * The place that a record was taken from: the account of its partition, or the bundle that it was in. A record is finished
 * or released once; each record has a slot of its own.
 */
export interface RecordOwner {
  finish(slot: number): void;
  /** This process no longer works on the record, and it is not finished. */
  release(slot: number): void;
  /** The record leaves its room in the window of its partition to others. Absent where it has none of its own. */
  setAside?(slot: number): void;
}

type Headers = IncomingRecord['headers'];

/**
 * A record that this process has taken: it is in flight until it is finished or released. The partition's committed offset cannot pass
 * it before it is finished. There is no closure and no promise for each record, because this is the hot path
 * of every role.
 */
export class TakenRecord implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Headers;
  readonly flaw: string | undefined;
  readonly owner: RecordOwner;
  readonly slot: number;

  constructor(record: IncomingRecord, owner: RecordOwner, slot: number) {
    this.topic = record.topic;
    this.partition = record.partition;
    this.offset = record.offset;
    this.timestampMs = record.timestampMs;
    this.key = record.key;
    this.value = record.value;
    this.headers = record.headers;
    this.flaw = record.flaw;
    this.owner = owner;
    this.slot = slot;
  }

  /**
   * To be called once, when the record was delivered or its copy in another topic is acknowledged. Repeated
   * calls, and calls for a partition that this process has lost, do nothing.
   */
  finish(): void {
    this.owner.finish(this.slot);
  }

  /**
   * This process no longer works on the record, and it is not finished. The next owner of its partition reads
   * it again.
   */
  release(): void {
    this.owner.release(this.slot);
  }

  /**
   * The record waits for others than this process, so that its partition is read on as if it were finished. It is
   * copied out of the fetch response, because that may take long.
   */
  setAside(): void {
    this.detach();
    this.owner.setAside?.(this.slot);
  }

  /**
   * Copies key, value and headers out of the fetch response that they are slices of. For records that are
   * held long: one slice keeps a response of up to 10 MB, or the pool that small buffers share.
   */
  detach(): void {
    const names = Object.keys(this.headers);
    let bytes = (this.key?.length ?? 0) + (this.value?.length ?? 0);
    for (const name of names) bytes += this.headers[name]?.length ?? 0;
    const own = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    const copy = (field: Buffer): Buffer => {
      const start = at;
      at += field.copy(own, start);
      return own.subarray(start, at);
    };
    if (this.key !== null) this.key = copy(this.key);
    if (this.value !== null) this.value = copy(this.value);
    const headers: Record<string, Buffer | undefined> = {};
    for (const name of names) {
      const value = this.headers[name];
      headers[name] = value === undefined ? undefined : copy(value);
    }
    this.headers = headers;
  }
}
