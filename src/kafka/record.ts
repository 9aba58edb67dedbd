/** The types that stages exchange with Kafka; kafkajs's own stay inside this folder. */

export type HeaderValue = Buffer | string;

/** A record to be written. `partition` is computed where it is not given. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition?: number;
  /** What the partition is computed from, if that is not the key. It is not written. */
  readonly partitionKey?: string | undefined;
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: Readonly<Record<string, HeaderValue>>;
  /** Nobody reads it soon: it is written within a fifth of a second, with others. */
  readonly mayWait?: boolean;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A record as read. Buffers may be slices of a whole fetch response: copy what is held for long. */
export interface IncomingRecord extends TopicPartition {
  readonly offset: number;
  /** Append time: every topic of ours has `message.timestamp.type=LogAppendTime`. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The last value where a header repeats. */
  readonly headers: Readonly<Record<string, Buffer | undefined>>;
  /** Why `headers` is empty although the record has some: more than may be kept in memory. */
  readonly flaw?: string | undefined;
}

/** The record with buffers of its own. */
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
