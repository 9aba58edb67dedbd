import { frameBatch, writeRecords, type BatchRecord } from '../protocol/batch-writer.ts';
import type { ByteWriter } from '../protocol/fields.ts';
import { allInSyncReplicas, encodeProduceRequest } from '../protocol/produce.ts';

type Field = Buffer | string | null;

/** A record in the shape that kafkajs gets. */
export interface KafkajsRecord {
  readonly key?: Field;
  readonly value?: Field;
  readonly headers?: Readonly<Record<string, Field | readonly Field[]>>;
  readonly timestamp?: string | null;
}

export interface KafkajsProduceRequest {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  /** The id as text, or something that becomes it. */
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
  readonly messages: readonly KafkajsRecord[];
}

type RequestModule = (request: KafkajsProduceRequest) => {
  readonly encode: () => Promise<{ readonly buffer: Buffer }>;
};

/** Finds a codec that is registered with a kafkajs. */
export type LookUpCodec = (
  type: number,
) => { compress(records: { readonly buffer: Buffer }): Buffer | Promise<Buffer> } | null;

/**
 * kafkajs allocates half a kilobyte for each record, header and part of a request, doubles each until its
 * contents fit, and copies everything six times. All its versions of the request end in this function.
 */
export function producingCheaply(
  lookUpCodec: LookUpCodec,
): (original: RequestModule) => RequestModule {
  return (original) => (request) => {
    const theirs = original(request);
    return isOurs(request)
      ? { ...theirs, encode: () => encodeKafkajsRequest(request, lookUpCodec) }
      : theirs;
  };
}

function isOurs({ acks, topicData }: KafkajsProduceRequest): boolean {
  const isPlainAll = ({ messages }: PartitionData): boolean => messages.every(isPlain);
  return (
    acks === allInSyncReplicas && topicData.every((topic) => topic.partitions.every(isPlainAll))
  );
}

/**
 * True if the request has nothing that we never write: a timestamp of its own, a header with several values
 * or none.
 */
function isPlain({ timestamp, headers = {} }: KafkajsRecord): boolean {
  if (timestamp !== undefined && timestamp !== null) return false;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string' && !Buffer.isBuffer(value)) return false;
  }
  return true;
}

/** Without the request's header. The headers of its records have one value each. */
export async function encodeKafkajsRequest(
  request: KafkajsProduceRequest,
  lookUpCodec: LookUpCodec,
): Promise<ByteWriter> {
  const { timeout: timeoutMs, transactionalId = null, topicData } = request;
  const topics = [];
  for (const { topic, partitions: parts } of topicData) {
    const partitions = [];
    for (const part of parts)
      partitions.push({
        partition: part.partition,
        batch: await batchOf(request, part, lookUpCodec),
      });
    topics.push({ topic, partitions });
  }
  return encodeProduceRequest({ transactionalId, timeoutMs, topics });
}

async function batchOf(
  { transactionalId, producerId = '-1', producerEpoch = 0, compression }: KafkajsProduceRequest,
  { messages, firstSequence = 0 }: PartitionData,
  lookUpCodec: LookUpCodec,
): Promise<Buffer> {
  // Copied, because a codec may still read it when the next records are written.
  const buffer = Buffer.from(writeRecords(messages as readonly BatchRecord[]));
  const bytes = (await lookUpCodec(compression)?.compress({ buffer })) ?? buffer;
  const origin = {
    producerId: Number(producerId.toString()),
    epoch: producerEpoch,
    sequence: firstSequence,
    isTransactional: Boolean(transactionalId),
  };
  return frameBatch({ codecId: compression, bytes }, messages.length, origin, Date.now());
}
