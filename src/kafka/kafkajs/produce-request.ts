import { requireOwn } from './own-copy.ts';
import { batchHeaderBytes, batchLengthEnd, magic, transactional } from './record-batch.ts';
import { isPlain, RecordWriter, type BatchRecord } from './record-writer.ts';
import { RequestWriter, stringBytes } from './request-writer.ts';

export interface ProduceRequest {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  /** As text, or something that becomes it. */
  readonly producerId?: { toString(): string };
  readonly producerEpoch?: number;
  readonly compression: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionData[];
  }[];
}

interface PartitionData {
  readonly partition: number;
  readonly firstSequence?: number;
  readonly messages: readonly BatchRecord[];
}

type RequestModule = (request: ProduceRequest) => {
  readonly encode: () => Promise<{ readonly buffer: Buffer }>;
};
type Compressed = Buffer | Promise<Buffer>;
interface Codec {
  compress(records: { readonly buffer: Buffer }): Compressed;
}

const { lookupCodec } = requireOwn('src/protocol/message/compression') as {
  readonly lookupCodec: (type: number) => Codec | null;
};
const crc32C = requireOwn('src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

/**
 * kafkajs takes a zeroed buffer of half a kilobyte for each record, header and part of a request, doubles
 * each until its contents fit, and copies everything six times: a third of a router's CPU time, and as
 * memory outside the heap most of what starts full collections. All versions that it knows end in this one.
 */
export function producingCheaply(original: RequestModule): RequestModule {
  return (request) => {
    const theirs = original(request);
    return isOurs(request) ? { ...theirs, encode: () => encodeProduceRequest(request) } : theirs;
  };
}

function isOurs({ topicData }: ProduceRequest): boolean {
  return topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(isPlain)),
  );
}

/** Without its header. */
export async function encodeProduceRequest(request: ProduceRequest): Promise<RequestWriter> {
  const { acks, timeout, transactionalId = null, topicData } = request;
  let bytes = stringBytes(transactionalId) + fixedBytes;
  const topics = [];
  for (const { topic, partitions } of topicData) {
    bytes += stringBytes(topic) + countBytes;
    const batches = [];
    for (const data of partitions) {
      const compressed = await compressedRecords(data.messages, request.compression);
      batches.push({ data, compressed });
      bytes += partitionBytes + batchHeaderBytes + compressed.length;
    }
    topics.push({ topic, batches });
  }
  const writer = new RequestWriter(bytes)
    .string(transactionalId)
    .int16(acks)
    .int32(timeout)
    .int32(topics.length);
  for (const { topic, batches } of topics) {
    writer.string(topic).int32(batches.length);
    for (const { data, compressed } of batches) {
      writer.int32(data.partition).int32(batchHeaderBytes + compressed.length);
      writeBatch(writer, request, data, compressed);
    }
  }
  return writer;
}

/** Acknowledgements, timeout, number of topics. */
const fixedBytes = 10;
const countBytes = 4;
/** Its number, and the batch's length. */
const partitionBytes = 8;

let recordWriter = new RecordWriter();

async function compressedRecords(
  messages: readonly BatchRecord[],
  compression: number,
): Promise<Buffer> {
  for (const [index, message] of messages.entries()) recordWriter.add(message, index);
  const buffer = recordWriter.take();
  const compressed = lookupCodec(compression)?.compress({ buffer });
  if (compressed instanceof Buffer) return compressed;
  // Read for longer than until the next records are written.
  recordWriter = new RecordWriter();
  return compressed ?? buffer;
}

function writeBatch(
  writer: RequestWriter,
  { transactionalId, producerId = '-1', producerEpoch = 0, compression }: ProduceRequest,
  { messages, firstSequence = 0 }: PartitionData,
  compressed: Buffer,
): void {
  const nowMs = Date.now();
  const firstOffset = 0;
  const leaderEpoch = 0;
  writer
    .int64(firstOffset)
    .int32(batchHeaderBytes - batchLengthEnd + compressed.length)
    .int32(leaderEpoch)
    .int8(magic);
  const crcAt = writer.at;
  writer
    .int32(0)
    .int16(compression | (transactionalId ? transactional : 0))
    .int32(messages.length - 1)
    .int64(nowMs)
    .int64(nowMs)
    .int64(Number(producerId.toString()))
    .int16(producerEpoch)
    .int32(firstSequence)
    .int32(messages.length)
    .bytes(compressed);
  writer.buf.writeUInt32BE(crc32C(writer.buf.subarray(crcAt + 4, writer.at)), crcAt);
}
