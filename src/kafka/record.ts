import { PostriderError } from '../errors.ts';

/** The types that stages exchange with Kafka. kafkajs's own types stay inside this folder. */

export type HeaderValue = Buffer | string;

/** A record to be written. `partition` is computed if it is not given. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition?: number;
  /** The text that the partition is computed from, if not the key. It is not written. */
  readonly partitionKey?: string | undefined;
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  /** The record is not read soon, so it may be written within a fifth of a second, together with others. */
  readonly mayWait?: boolean;
  /**
   * The caller has another place for the record. If its partition cannot be written for this long, it comes back with
   * an `unwritable` error. It may have been written nevertheless, where Kafka could not replicate it in time.
   */
  readonly elsewhereAfterMs?: number | undefined;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A record as read. Buffers may be slices of a whole fetch response, so copy what is held for long. */
export interface IncomingRecord extends TopicPartition {
  readonly offset: number;
  /** Append time: all our topics have `message.timestamp.type=LogAppendTime`. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The last value if a header repeats. */
  readonly headers: Readonly<Record<string, Buffer | undefined>>;
  /** Why `headers` is empty although the record has some: they are too many or too large to keep. */
  readonly flaw?: string | undefined;
}

/** A copy of the record with its own buffers. */
export function copied(record: IncomingRecord): IncomingRecord {
  const copy = (bytes: Buffer | null): Buffer | null =>
    bytes === null ? null : Buffer.from(bytes);
  const headers = Object.entries(record.headers).map(
    ([name, bytes]) => [name, bytes === undefined ? undefined : Buffer.from(bytes)] as const,
  );
  return {
    ...record,
    key: copy(record.key),
    value: copy(record.value),
    headers: Object.fromEntries(headers),
  };
}

/** One value for each partition. Looked up for every batch, so no combined key is built. */
export class PartitionMap<T> {
  readonly #topics = new Map<string, Map<number, T>>();

  get(topic: string, partition: number): T | undefined {
    return this.#topics.get(topic)?.get(partition);
  }

  set({ topic, partition }: TopicPartition, value: T): void {
    let partitions = this.#topics.get(topic);
    if (partitions === undefined) {
      partitions = new Map();
      this.#topics.set(topic, partitions);
    }
    partitions.set(partition, value);
  }

  delete({ topic, partition }: TopicPartition): void {
    const partitions = this.#topics.get(topic);
    partitions?.delete(partition);
    if (partitions?.size === 0) this.#topics.delete(topic);
  }

  *values(): Generator<T> {
    for (const partitions of this.#topics.values()) yield* partitions.values();
  }
}

/** The longest lengths, deltas and attributes of one record. */
const recordOverheadBytes = 30;
const headerOverheadBytes = 10;

/**
 * The most space that a record can take in a batch before compression. A record that cannot be encoded is
 * found here, before it can hold up others.
 * @throws PostriderError `record-refused`
 */
export function recordBytes(record: OutgoingRecord): number {
  let bytes = recordOverheadBytes;
  if (record.key !== null) bytes += fieldBytes(record, 'key', record.key);
  if (record.value !== null) bytes += fieldBytes(record, 'value', record.value);
  const { headers } = record;
  if (headers === undefined) return bytes;
  for (const name in headers) {
    bytes += headerOverheadBytes + Buffer.byteLength(name);
    bytes += fieldBytes(record, name, headers[name]);
  }
  return bytes;
}

function fieldBytes(record: OutgoingRecord, name: string, value: HeaderValue | undefined): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Buffer.isBuffer(value)) return value.length;
  throw new PostriderError(
    'record-refused',
    `A record for topic ${record.topic} cannot be encoded: its ${name} is neither text nor bytes`,
  );
}
