import { ByteReader, ByteWriter, type Exchange } from './fields.ts';
import { errorName, type KafkaErrorName } from './errors.ts';

export interface FetchRequest {
  /** The time for which the broker waits for records. */
  readonly maxWaitMs: number;
  /** Compressed size of the whole answer; one batch may exceed it. */
  readonly maxBytes: number;
  /** The zone of this process; empty: unknown. */
  readonly rack: string;
  readonly topics: readonly {
    readonly id: string;
    readonly partitions: readonly FetchPosition[];
  }[];
}

export interface FetchPosition {
  readonly partition: number;
  /** Epoch of the partition's leader, as this client knows it; -1: unknown. */
  readonly leaderEpoch: number;
  readonly offset: number;
  /**
   * Epoch of the last record that was read; -1: unknown. With it, the broker reports where the log has
   * diverged since.
   */
  readonly lastEpoch: number;
  readonly maxBytes: number;
}

export interface FetchAnswer {
  readonly error: KafkaErrorName;
  readonly throttleMs: number;
  readonly partitions: readonly FetchedPartition[];
}

export interface FetchedPartition {
  readonly topicId: string;
  readonly partition: number;
  readonly error: KafkaErrorName;
  readonly highWatermark: number;
  /** Readers of committed records get the records before this offset. */
  readonly lastStableOffset: number;
  readonly aborted: readonly AbortedTransaction[];
  /** Node id of a replica in the reader's own zone; -1: none. */
  readonly preferredReplica: number;
  /** The end of the last epoch that was read in this log, if that is before the position. */
  readonly diverging: EpochEnd | undefined;
  /** Record batches, of which the last may be cut off. */
  readonly records: Buffer;
}

/** An aborted transaction: readers of committed records get none of its records. */
export interface AbortedTransaction {
  readonly producerId: number;
  /** Offset of its first record in the partition. */
  readonly firstOffset: number;
}

export interface EpochEnd {
  readonly epoch: number;
  readonly endOffset: number;
}

/**
 * Fetch, version 13: the first that identifies topics by id, so that a topic that was created again is not
 * mistaken for the old one.
 */
export function fetchExchange(request: FetchRequest): Exchange<FetchAnswer> {
  return {
    apiKey: 1,
    apiName: 'Fetch',
    version: 13,
    encode: () => encodeFetchRequest(request),
    decode: decodeFetchAnswer,
  };
}

const noReplica = -1;
const readCommitted = 1;
const minBytes = 1;
const noSession = 0;
const noSessionEpoch = -1;
const unknownLogStart = -1;

function encodeFetchRequest({ maxWaitMs, maxBytes, rack, topics }: FetchRequest): ByteWriter {
  const partitions = topics.reduce((sum, topic) => sum + topic.partitions.length, 0);
  const writer = new ByteWriter(64 + topics.length * 24 + partitions * 34);
  // kafkajs writes the request's header, which has no tags.
  writer.noTags();
  writer.int32(noReplica).int32(maxWaitMs).int32(minBytes).int32(maxBytes).int8(readCommitted);
  writer.int32(noSession).int32(noSessionEpoch);
  writer.compactArray(topics, ({ id, partitions: positions }) => {
    writer.uuid(id).compactArray(positions, (position) => {
      writer.int32(position.partition).int32(position.leaderEpoch).int64(position.offset);
      writer.int32(position.lastEpoch).int64(unknownLogStart).int32(position.maxBytes).noTags();
    });
    writer.noTags();
  });
  const forgottenTopics: never[] = [];
  return writer
    .compactArray(forgottenTopics, () => undefined)
    .compactString(rack)
    .noTags();
}

function decodeFetchAnswer(bytes: Buffer): FetchAnswer {
  const reader = new ByteReader(bytes);
  reader.tags();
  const throttleMs = reader.int32();
  const error = errorName(reader.int16());
  const sessionIdBytes = 4;
  reader.skip(sessionIdBytes);
  const partitions: FetchedPartition[] = [];
  reader.compactArray(() => {
    const topicId = reader.uuid();
    reader.compactArray(() => partitions.push(decodePartition(reader, topicId)));
    reader.tags();
  });
  return { error, throttleMs, partitions };
}

const none: readonly never[] = [];
const noRecords = Buffer.alloc(0);
const divergingTag = 0;

function decodePartition(reader: ByteReader, topicId: string): FetchedPartition {
  const partition = reader.int32();
  const error = errorName(reader.int16());
  const highWatermark = reader.int64();
  const lastStableOffset = reader.int64();
  const logStartBytes = 8;
  reader.skip(logStartBytes);
  const aborted = reader.compactArray(() => {
    const transaction = { producerId: reader.int64(), firstOffset: reader.int64() };
    reader.tags();
    return transaction;
  });
  const preferredReplica = reader.int32();
  const records = reader.compactBytes() ?? noRecords;
  let diverging: EpochEnd | undefined;
  reader.tags((tag, field) => {
    if (tag === divergingTag) diverging = { epoch: field.int32(), endOffset: field.int64() };
  });
  return {
    topicId,
    partition,
    error,
    highWatermark,
    lastStableOffset,
    aborted: aborted.length === 0 ? none : aborted,
    preferredReplica,
    diverging,
    records,
  };
}

/** Finds what a part of an answer is for. Brokers answer in the order of the request. */
export function finderIn<
  T extends { readonly topicId?: string | undefined; readonly partition: number },
>(asked: readonly T[]): (part: FetchedPartition) => T | undefined {
  let next = 0;
  return ({ topicId, partition }) => {
    for (let tries = asked.length; tries > 0; tries -= 1) {
      const cursor = asked[next];
      next = (next + 1) % asked.length;
      if (cursor?.partition === partition && cursor.topicId === topicId) return cursor;
    }
    return undefined;
  };
}

export interface EpochEndRequest {
  readonly topic: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly epoch: number;
}

export interface EpochEndAnswer extends EpochEnd {
  readonly error: KafkaErrorName;
}

/** OffsetForLeaderEpoch, version 3: where the records of an epoch end in the log of the partition's leader. */
export function epochEndExchange(request: EpochEndRequest): Exchange<EpochEndAnswer> {
  return {
    apiKey: 23,
    apiName: 'OffsetForLeaderEpoch',
    version: 3,
    encode: () => encodeEpochEndRequest(request),
    decode: decodeEpochEnd,
  };
}

const consumer = -1;

function encodeEpochEndRequest(request: EpochEndRequest): ByteWriter {
  const writer = new ByteWriter(64);
  writer.int32(consumer).array([request], ({ topic, partition, leaderEpoch, epoch }) => {
    writer.string(topic).array([partition], () => {
      writer.int32(partition).int32(leaderEpoch).int32(epoch);
    });
  });
  return writer;
}

/** An end of -1: the leader has no information about this epoch. */
function decodeEpochEnd(bytes: Buffer): EpochEndAnswer {
  const reader = new ByteReader(bytes);
  const throttleBytes = 4;
  reader.skip(throttleBytes);
  let answer: EpochEndAnswer = {
    error: 'UNKNOWN_TOPIC_OR_PARTITION',
    epoch: -1,
    endOffset: -1,
  };
  reader.array(() => {
    reader.string();
    reader.array(() => {
      const error = errorName(reader.int16());
      const partitionBytes = 4;
      reader.skip(partitionBytes);
      answer = { error, epoch: reader.int32(), endOffset: reader.int64() };
    });
  });
  return answer;
}
