import type { KafkaClient } from '../../../src/kafka/client.ts';
import { readBatchHeader } from '../../../src/kafka/protocol/batch-header.ts';

/** What a topic's records take on a broker's disk, of one replica. */
export interface StoredBytes {
  readonly bytesPerRecord: number;
  /** In the whole topic, if nothing of it was removed. */
  readonly records: number;
}

const sampleBytes = 256 * 1024;
/** Where fields are, from the first byte of a record batch. */
const lengthAt = 8;
const frontBytes = 12;

/** Measured on the beginning of each partition, batch by batch as brokers keep them. */
export async function storedBytes(kafka: KafkaClient, topic: string): Promise<StoredBytes> {
  const cluster = kafka.openCluster();
  try {
    await cluster.refresh([topic]);
    const { id = '', partitions = [] } = cluster.topic(topic) ?? {};
    let sampled = { bytes: 0, records: 0 };
    let records = 0;
    for (const [partition, { leader, epoch }] of partitions.entries()) {
      const answer = await cluster.fetch(leader, {
        maxWaitMs: 0,
        maxBytes: sampleBytes,
        rack: '',
        topics: [
          {
            id,
            partitions: [
              { partition, leaderEpoch: epoch, offset: 0, lastEpoch: -1, maxBytes: sampleBytes },
            ],
          },
        ],
      });
      for (const part of answer.partitions) {
        const whole = countBatches(part.records);
        sampled = {
          bytes: sampled.bytes + whole.bytes,
          records: sampled.records + whole.records,
        };
        records += part.highWatermark;
      }
    }
    return { bytesPerRecord: sampled.bytes / sampled.records, records };
  } finally {
    cluster.close();
  }
}

function countBatches(bytes: Buffer): { bytes: number; records: number } {
  let at = 0;
  let records = 0;
  while (at + frontBytes <= bytes.length) {
    const next = at + frontBytes + bytes.readInt32BE(at + lengthAt);
    if (next > bytes.length) break;
    records += readBatchHeader(bytes.subarray(at, next)).recordCount;
    at = next;
  }
  return { bytes: at, records };
}
