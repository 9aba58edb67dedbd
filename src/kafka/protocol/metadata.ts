import { isIPv6 } from 'node:net';
import { errorName, type KafkaErrorName } from './errors.ts';
import { ByteReader, ByteWriter, type Exchange } from './fields.ts';

export interface ClusterMetadata {
  readonly throttleMs: number;
  readonly brokers: readonly BrokerAddress[];
  readonly topics: readonly DescribedTopic[];
}

export interface BrokerAddress extends HostPort {
  readonly nodeId: number;
}

/** The address that a broker listens on. An IPv6 address has no brackets here, as sockets and Kafka's metadata have it. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface DescribedTopic {
  readonly name: string;
  readonly error: KafkaErrorName;
  /** A topic that is deleted and created again gets another id. `noTopicId`: brokers give it none. */
  readonly id: string;
  readonly partitions: readonly PartitionMetadata[];
}

export interface PartitionMetadata {
  /** Node id; -1: there is no leader at this moment. */
  readonly leader: number;
  readonly epoch: number;
  /** Node ids of the replicas that have all that is acknowledged, the leader among them. Another of them leads next. */
  readonly inSync: readonly number[];
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

/** The id of all topics while brokers have to speak as before Kafka 2.8, by `inter.broker.protocol.version`. */
export const noTopicId: string = '0'.repeat(32);

function encodeMetadataRequest(topics: readonly string[]): ByteWriter {
  const writer = new ByteWriter(16 + topics.reduce((sum, name) => sum + name.length + 19, 0));
  writer.noTags();
  writer.compactArray(topics, (name) => {
    writer.uuid(noTopicId).compactString(name).noTags();
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
  const numbered = reader.compactArray(() => {
    // A partition without a leader has its own error and affects no other partition.
    const errorBytes = 2;
    reader.skip(errorBytes);
    const partition = reader.int32();
    const leader = reader.int32();
    const epoch = reader.int32();
    const nodeIds = (): number[] => reader.compactArray(() => reader.int32());
    nodeIds();
    const inSync = nodeIds();
    // Those that are offline.
    nodeIds();
    reader.tags();
    return [partition, { leader, epoch, inSync }] as const;
  });
  const rightsBytes = 4;
  reader.skip(rightsBytes);
  reader.tags();
  return { name, error, id, partitions: inOrder(numbered) };
}

/** @throws RangeError for a number that is not below their count: a list of that length may fill the memory */
function inOrder(
  numbered: readonly (readonly [number, PartitionMetadata])[],
): readonly PartitionMetadata[] {
  const partitions: PartitionMetadata[] = [];
  for (const [partition, metadata] of numbered) {
    if (partition < 0 || partition >= numbered.length)
      throw new RangeError(
        `a topic of ${numbered.length} partitions has one with the number ${partition}`,
      );
    partitions[partition] = metadata;
  }
  return partitions;
}

/** @param text `host:port`; an IPv6 address stands in brackets */
export function parseBroker(text: string): HostPort {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(colon + 1)) };
}

/** The address as settings and messages have it. */
export function brokerText({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
