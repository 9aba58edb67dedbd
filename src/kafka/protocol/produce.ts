import { ByteReader, ByteWriter, stringBytes, type Exchange } from './fields.ts';
import { errorName, KafkaAnswerError, type KafkaErrorName } from './errors.ts';

export interface ProduceRequest {
  readonly transactionalId?: string | null;
  /** The time for which the broker waits for all in-sync replicas. */
  readonly timeoutMs: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionBatch[];
  }[];
}

export interface PartitionBatch {
  readonly partition: number;
  /** A record batch, as it will be in the log. */
  readonly batch: Buffer;
}

export interface ProduceAnswer {
  readonly throttleMs: number;
  readonly partitions: readonly ProducedPartition[];
}

export interface ProducedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly error: KafkaErrorName;
  /** Offset of the first record; -1 after an error. */
  readonly baseOffset: number;
  /** By the broker's clock; undefined where records keep the time of who wrote them, and after an error. */
  readonly appendedMs: number | undefined;
  /** Kafka's words beside the error. */
  readonly message: string | null;
}

/** Produce, version 8: the first version that states why a record is invalid. */
export function produceExchange(request: ProduceRequest): Exchange<ProduceAnswer> {
  return {
    apiKey: 0,
    apiName: 'Produce',
    version: 8,
    encode: () => encodeProduceRequest(request),
    decode: decodeProduceAnswer,
  };
}

export const allInSyncReplicas = -1;
/** Acknowledgements, timeout, number of topics. */
const fixedBytes = 10;
const countBytes = 4;
/** The partition's number, and its batch's length. */
const partitionBytes = 8;

/** Writes into a buffer of the exact size. All versions from 3 on have this format. */
export function encodeProduceRequest(request: ProduceRequest): ByteWriter {
  const { transactionalId = null, timeoutMs, topics } = request;
  let bytes = stringBytes(transactionalId) + fixedBytes;
  for (const { topic, partitions } of topics) {
    bytes += stringBytes(topic) + countBytes;
    for (const { batch } of partitions) bytes += partitionBytes + batch.length;
  }
  const writer = new ByteWriter(bytes).string(transactionalId);
  writer.int16(allInSyncReplicas).int32(timeoutMs);
  return writer.array(topics, ({ topic, partitions }) => {
    writer.string(topic).array(partitions, ({ partition, batch }) => {
      writer.int32(partition).int32(batch.length).bytes(batch);
    });
  });
}

export function decodeProduceAnswer(bytes: Buffer): ProduceAnswer {
  const reader = new ByteReader(bytes);
  const partitions: ProducedPartition[] = [];
  reader.array(() => {
    const topic = reader.string();
    reader.array(() => partitions.push(decodePartition(reader, topic)));
  });
  return { partitions, throttleMs: reader.int32() };
}

function decodePartition(reader: ByteReader, topic: string): ProducedPartition {
  const partition = reader.int32();
  const error = errorName(reader.int16());
  const baseOffset = reader.int64();
  const appendTime = reader.int64();
  const logStartBytes = 8;
  reader.skip(logStartBytes);
  const aboutRecords = reader.array(() => {
    const indexBytes = 4;
    reader.skip(indexBytes);
    return reader.nullableString();
  });
  const aboutFirst = aboutRecords.find((about) => about !== null);
  const message = reader.nullableString() ?? aboutFirst ?? null;
  const appendedMs = appendTime < 0 ? undefined : appendTime;
  return { topic, partition, error, baseOffset, appendedMs, message };
}

/** The identity by which Kafka recognizes a repeated batch. */
export interface ProducerIdentity {
  readonly id: number;
  readonly epoch: number;
}

/**
 * InitProducerId, version 1.
 * @param transactionalId null: any id, for a producer without transactions. Otherwise the id's own, in a higher epoch
 * than whoever asked before has; its coordinator is asked
 */
export function initProducerIdExchange(
  transactionalId: string | null = null,
): Exchange<ProducerIdentity> {
  return {
    apiKey: 22,
    apiName: 'InitProducerId',
    version: 1,
    encode: () =>
      new ByteWriter(stringBytes(transactionalId) + 4)
        .string(transactionalId)
        .int32(transactionTimeoutMs),
    decode: decodeInitProducerId,
  };
}

/** Unused without transactions, but must be above zero. */
const transactionTimeoutMs = 60_000;

/** @throws KafkaAnswerError */
function decodeInitProducerId(bytes: Buffer): ProducerIdentity & { readonly throttleMs: number } {
  const reader = new ByteReader(bytes);
  const throttleMs = reader.int32();
  const error = errorName(reader.int16());
  if (error !== 'NONE') throw new KafkaAnswerError(error, 'InitProducerId');
  return { id: reader.int64(), epoch: reader.int16(), throttleMs };
}
