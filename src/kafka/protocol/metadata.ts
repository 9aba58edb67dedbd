import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { errorName, type KafkaErrorName } from './errors.ts';
import type { Exchange } from './exchange.ts';

export interface ClusterMetadata {
  readonly throttleMs: number;
  readonly brokers: readonly BrokerAddress[];
  readonly topics: readonly DescribedTopic[];
}

export interface BrokerAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

export interface DescribedTopic {
  readonly name: string;
  readonly error: KafkaErrorName;
  /** Another one when a topic is deleted and made again. */
  readonly id: string;
  readonly partitions: readonly PartitionMetadata[];
}

export interface PartitionMetadata {
  /** Node id; -1: it has none at this moment. */
  readonly leader: number;
  readonly epoch: number;
}

/** Metadata, version 12: with the ids of topics and the epochs of leaders. */
export function metadataExchange(topics: readonly string[]): Exchange<ClusterMetadata> {
  return {
    apiKey: 3,
    apiName: 'Metadata',
    version: 12,
    encode: () => encodeMetadataRequest(topics),
    decode: decodeMetadata,
  };
}

const noId = '0'.repeat(32);

function encodeMetadataRequest(topics: readonly string[]): ByteWriter {
  const writer = new ByteWriter(16 + topics.reduce((sum, name) => sum + name.length + 19, 0));
  writer.noTags();
  writer.compactArray(topics, (name) => {
    writer.uuid(noId).compactString(name).noTags();
  });
  const mayCreate = false;
  const withRights = false;
  return writer.boolean(mayCreate).boolean(withRights).noTags();
}

function decodeMetadata(bytes: Buffer): ClusterMetadata {
  const reader = new ByteReader(bytes);
  reader.tags();
  const throttleMs = reader.int32();
  const brokers = reader.compactArray(() => {
    const nodeId = reader.int32();
    const host = reader.compactString() ?? '';
    const port = reader.int32();
    reader.compactString();
    reader.tags();
    return { nodeId, host, port };
  });
  reader.compactString();
  const controllerIdBytes = 4;
  reader.skip(controllerIdBytes);
  const topics = reader.compactArray(() => decodeTopic(reader));
  return { throttleMs, brokers, topics };
}

function decodeTopic(reader: ByteReader): DescribedTopic {
  const error = errorName(reader.int16());
  const name = reader.compactString() ?? '';
  const id = reader.uuid();
  const isInternalBytes = 1;
  reader.skip(isInternalBytes);
  const partitions: PartitionMetadata[] = [];
  reader.compactArray(() => {
    // A partition without a leader is an error of its own, and of no other.
    const errorBytes = 2;
    reader.skip(errorBytes);
    const partition = reader.int32();
    partitions[partition] = { leader: reader.int32(), epoch: reader.int32() };
    // All replicas, those in sync, those that are offline.
    for (let lists = 3; lists > 0; lists -= 1) reader.compactArray(() => reader.int32());
    reader.tags();
  });
  const rightsBytes = 4;
  reader.skip(rightsBytes);
  reader.tags();
  return { name, error, id, partitions };
}
