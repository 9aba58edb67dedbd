import { createRequire } from 'node:module';

/** The part of kafkajs's Encoder that a fetch request needs. */
interface Encoder {
  writeInt8(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: string | number): this;
  writeString(value: string): this;
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

const require = createRequire(import.meta.url);

/** Fetch, version 11, without its header. */
export function encodeFetchRequest(request: FetchRequest): Encoder {
  const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new (bytes: number) => Encoder;
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
