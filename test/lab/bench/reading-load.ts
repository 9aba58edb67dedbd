import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { encodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { encodeBatch, type BatchRecord } from '../../../src/kafka/protocol/batch-writer.ts';
import { codecId, type Compressor } from '../../../src/kafka/protocol/compressor.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createTopology, type Topology } from '../../../src/topology.ts';

/** What a measured reader is told. */
export interface ReadingLoad {
  readonly brokers: readonly string[];
  readonly group: string;
  readonly topics: readonly string[];
  /** Those of them that may come late. */
  readonly lateTopics: readonly string[];
  /** The first records are not measured. */
  readonly warmUp: number;
  readonly total: number;
}

export const readingPartitions = 12;

/** As delivery has it: one topic with events and two with retries, of twelve partitions each. */
export function readingTopology(prefix: string): Topology {
  return createTopology({
    prefix,
    partitions: readingPartitions,
    replicationFactor: 1,
    retryTiersMs: [10_000, 60_000],
    extraIngestTopics: [],
  });
}

interface ReadingRecord extends BatchRecord {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** About 450 bytes that compress to a half, as events do, and one header. */
export function readingRecord(index: number): ReadingRecord {
  const envelope = encodeEnvelope({
    destinationId: 'd1',
    sourceId: 'bench',
    messageId: `bench-${index}`,
    type: 'track',
    configOffset: 1,
    appendTimeMs: Date.now(),
    attempts: 0,
  });
  const value = JSON.stringify({
    version: 1,
    type: 'track',
    userId: `user-${index % 9_973}`,
    event: 'Order Completed',
    properties: { filler: randomBytes(185).toString('hex') },
  });
  return { key: `d1:user-${index % 9_973}`, value, headers: { [envelopeHeader]: envelope } };
}

const zstd: Compressor = {
  pack: (records) => ({ codecId: codecId.zstd, bytes: zstdCompressSync(records) }),
};
const noProducer = { producerId: -1, epoch: -1, sequence: -1 };
/** So many are made once, and written again and again: Kafka gives them their offsets. */
const differentBatches = 24;
const answerTimeoutMs = 10_000;

/**
 * Writes so many batches of so many records into each partition of the topic that events go to.
 * @returns how many bytes that is in the log
 */
export async function writeBatches(
  brokers: readonly string[],
  prefix: string,
  load: { readonly batches: number; readonly recordsPerBatch: number },
): Promise<number> {
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const topology = readingTopology(prefix);
  const { delivery: topic } = topology.topics;
  await ensureTopics(kafka, topology.all);
  const made = Array.from({ length: differentBatches }, (_, index) => {
    const records = Array.from({ length: load.recordsPerBatch }, (_, offset) =>
      readingRecord(index * load.recordsPerBatch + offset),
    );
    return encodeBatch(records, noProducer, zstd, Date.now());
  });
  const cluster = kafka.openCluster();
  await cluster.refresh([topic]);
  const write = async (partition: number, batch: Buffer): Promise<void> => {
    const leader = cluster.topic(topic)?.partitions[partition]?.leader ?? -1;
    const topics = [{ topic, partitions: [{ partition, batch }] }];
    const [answer] = await cluster.produce(leader, { timeoutMs: answerTimeoutMs, topics });
    if (answer?.error !== 'NONE') throw new Error(`not written: ${answer?.error ?? 'no answer'}`);
  };
  const partitions = Array.from({ length: readingPartitions }, (_, partition) => partition);
  let bytes = 0;
  for (let round = 0; round < load.batches; round += 1) {
    await Promise.all(
      partitions.map((partition) => {
        const batch = made[(round + partition) % made.length] ?? Buffer.alloc(0);
        bytes += batch.length;
        return write(partition, batch);
      }),
    );
  }
  cluster.close();
  return bytes;
}
