import { createRequire } from 'node:module';
import { hideAborted, type AbortedTransaction, type DecodedRecord } from './aborted-records.ts';

/** The part of kafkajs's Encoder that a fetch request needs. */
interface Encoder {
  writeInt8(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: string | number): this;
  writeString(value: string): this;
}

/** The part of kafkajs's Decoder that a fetch response needs. */
interface Decoder {
  readonly buffer: Buffer;
  offset: number;
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readString(): string;
  readArray<T>(read: (decoder: Decoder) => T): T[];
}

export interface FetchRequest {
  readonly replicaId: number;
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolationLevel: number;
  readonly sessionId: number;
  readonly sessionEpoch: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
  readonly rackId: string;
}

interface EncodableRequest {
  readonly encode: () => Promise<unknown>;
}

export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly preferredReadReplica: number;
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly messages: readonly DecodedRecord[];
}

export interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const requestModule: string = `${protocol}/requests/fetch/v11/request`;
const responseModule: string = `${protocol}/requests/fetch/v11/response`;

/**
 * kafkajs asks for every partition in each fetch and is answered for every one of them, mostly with
 * nothing. For each it takes two zeroed buffers of half a kilobyte to ask, and a dozen objects, a batch
 * and a round through its queues to learn that there is nothing: with a few dozen partitions and a
 * record now and then, that is most of a consumer's garbage, and the collector's pauses are its
 * slowest deliveries. Partitions that bring nothing end here, and a request is written into one buffer.
 */
export function fetchCheaply(): void {
  if (isPatched) return;
  isPatched = true;
  const original = require(requestModule) as (request: FetchRequest) => EncodableRequest;
  const module = require.cache[require.resolve(requestModule)];
  if (module !== undefined) {
    module.exports = (request: FetchRequest): EncodableRequest => ({
      ...original(request),
      encode: () => Promise.resolve(encodeFetchRequest(request)),
    });
  }
  const response = require(responseModule) as { decode: typeof decodeFetchResponse };
  response.decode = decodeFetchResponse;
}

let isPatched = false;

/** Fetch, version 11, without its header. */
export function encodeFetchRequest(request: FetchRequest): Encoder {
  const KafkaEncoder = require(`${protocol}/encoder`) as new (bytes: number) => Encoder;
  const encoder = new KafkaEncoder(requestBytes(request))
    .writeInt32(request.replicaId)
    .writeInt32(request.maxWaitTime)
    .writeInt32(request.minBytes)
    .writeInt32(request.maxBytes)
    .writeInt8(request.isolationLevel)
    .writeInt32(request.sessionId)
    .writeInt32(request.sessionEpoch)
    .writeInt32(request.topics.length);
  for (const { topic, partitions } of request.topics) {
    encoder.writeString(topic).writeInt32(partitions.length);
    for (const { partition, fetchOffset, maxBytes } of partitions)
      encoder
        .writeInt32(partition)
        .writeInt32(unknownEpoch)
        .writeInt64(fetchOffset)
        .writeInt64(unknownOffset)
        .writeInt32(maxBytes);
  }
  const forgottenTopics = 0;
  return encoder.writeInt32(forgottenTopics).writeString(request.rackId);
}

const unknownEpoch = -1;
const unknownOffset = -1;
const fixedBytes = 64;
const bytesPerTopic = 8;
const bytesPerPartition = 28;

function requestBytes({ topics, rackId }: FetchRequest): number {
  let bytes = fixedBytes + rackId.length;
  for (const { topic, partitions } of topics)
    bytes += bytesPerTopic + topic.length + partitions.length * bytesPerPartition;
  return bytes;
}

/** Fetch, version 11: all partitions that hold records, an error or another broker to ask. */
export async function decodeFetchResponse(bytes: Buffer): Promise<FetchResponse> {
  const KafkaDecoder = require(`${protocol}/decoder`) as new (bytes: Buffer) => Decoder;
  const decoder = new KafkaDecoder(bytes);
  const clientSideThrottleTime = decoder.readInt32();
  const errorCode = decoder.readInt16();
  const sessionId = decoder.readInt32();
  const responses = [];
  for (let topics = decoder.readInt32(); topics > 0; topics -= 1) {
    const topicName = decoder.readString();
    const partitions = [];
    for (let count = decoder.readInt32(); count > 0; count -= 1) {
      if (!skipEmptyPartition(decoder)) partitions.push(await decodePartition(decoder));
    }
    if (partitions.length > 0) responses.push({ topicName, partitions });
  }
  // The broker has not throttled: it asks the client to, which kafkajs does by the other field.
  const throttleTime = 0;
  return { throttleTime, clientSideThrottleTime, errorCode, sessionId, responses } as FetchResponse;
}

/** Where fields are, from the partition's first byte. */
const errorCodeAt = 4;
const abortedTransactionsAt = 30;
const abortedTransactionBytes = 16;
const noReplica = -1;

function skipEmptyPartition(decoder: Decoder): boolean {
  const { buffer, offset } = decoder;
  if (buffer.readInt16BE(offset + errorCodeAt) !== 0) return false;
  const aborted = Math.max(0, buffer.readInt32BE(offset + abortedTransactionsAt));
  const replicaAt = offset + abortedTransactionsAt + 4 + aborted * abortedTransactionBytes;
  if (buffer.readInt32BE(replicaAt) !== noReplica) return false;
  const recordsAt = replicaAt + 4;
  if (buffer.readInt32BE(recordsAt) > 0) return false;
  decoder.offset = recordsAt + 4;
  return true;
}

async function decodePartition(decoder: Decoder): Promise<FetchedPartition> {
  const decodeMessages = require(`${protocol}/requests/fetch/v4/decodeMessages`) as (
    decoder: Decoder,
  ) => Promise<DecodedRecord[]>;
  const header = {
    partition: decoder.readInt32(),
    errorCode: decoder.readInt16(),
    highWatermark: decoder.readInt64().toString(),
    lastStableOffset: decoder.readInt64().toString(),
    lastStartOffset: decoder.readInt64().toString(),
    abortedTransactions: decoder.readArray((each) => ({
      producerId: each.readInt64().toString(),
      firstOffset: each.readInt64().toString(),
    })),
    preferredReadReplica: decoder.readInt32(),
  };
  const messages = await decodeMessages(decoder);
  hideAborted(messages, header.abortedTransactions);
  return { ...header, abortedTransactions: [], messages };
}
