import { monitorEventLoopDelay } from 'node:perf_hooks';
import { KafkaClient } from '../../../src/kafka/client.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster/cluster.ts';
import { startConsumeLoop } from '../../../src/kafka/consume/consume-loop.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { summarize, type BenchResult } from './measure.ts';
import { readingPartitions, readingTopology, writeBatches } from './reading-load.ts';

/** How much is fetched to read a backlog once, against what it takes in the log. */

export interface CatchUpOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log: (line: string) => void;
}

/** The windows of roles: how much one fetch brings of a partition, and how much of it may be in flight. */
const windows = [
  { role: 'delivery', maxBytesPerPartition: 256 * 1024, records: 1_024, bytes: 4 * 1024 * 1024 },
  { role: 'router', maxBytesPerPartition: 32 * 1024, records: 256, bytes: 512 * 1024 },
];
type RoleWindow = (typeof windows)[number];

const batchSizes = [20, 100, 500];
const recordsPerPartition = 20_000;
const mostFetched = 1.2;

export async function catchUp({ brokers, prefix, log }: CatchUpOptions): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const recordsPerBatch of batchSizes) {
    const topics = `${prefix}batches-of-${recordsPerBatch}.`;
    const batches = recordsPerPartition / recordsPerBatch;
    const logBytes = await writeBatches(brokers, topics, { batches, recordsPerBatch });
    for (const window of windows) {
      const { fetchedBytes, longestMs } = await readAll(brokers, topics, window);
      const ratio = fetchedBytes / logBytes;
      log(`${window.role}, batches of ${recordsPerBatch}: ${ratio.toFixed(2)} of the log fetched`);
      results.push({
        name: `reading, catching up on batches of ${recordsPerBatch}, in the windows of the ${window.role} role: bytes fetched, against bytes in the log`,
        required: `at most ${mostFetched}`,
        ...summarize([ratio]),
        passed: ratio <= mostFetched,
        absolutes: {
          'in the log, MB': (logBytes / 1e6).toFixed(1),
          'the longest that the thread was busy, ms': longestMs.toFixed(0),
        },
      });
    }
  }
  return results;
}

/** Counts what fetches bring. */
class CountingKafka extends KafkaClient {
  fetchedBytes = 0;

  override openCluster(): KafkaCluster {
    const cluster = super.openCluster();
    const fetch = cluster.fetch.bind(cluster);
    cluster.fetch = async (nodeId, request) => {
      const answer = await fetch(nodeId, request);
      for (const { records } of answer.partitions) this.fetchedBytes += records.length;
      return answer;
    };
    return cluster;
  }
}

async function readAll(
  brokers: readonly string[],
  prefix: string,
  window: RoleWindow,
): Promise<{ readonly fetchedBytes: number; readonly longestMs: number }> {
  const kafka = new CountingKafka({ brokers, clientId: 'bench' }, silentLogger);
  const busy = monitorEventLoopDelay({ resolution: 1 });
  let left = recordsPerPartition * readingPartitions;
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  const loop = startConsumeLoop(kafka, {
    groupId: `${prefix}${window.role}`,
    topics: [readingTopology(prefix).topics.delivery],
    windowRecords: window.records,
    windowBytes: window.bytes,
    maxBytesPerPartition: window.maxBytesPerPartition,
    clock: systemClock,
    log: silentLogger,
    onAssigned: () => {
      busy.enable();
    },
    onRecords: (records) => {
      left -= records.length;
      for (const record of records) record.finish();
      if (left === 0) onEnd();
    },
  });
  await ended;
  busy.disable();
  await loop.stop(1_000);
  return { fetchedBytes: kafka.fetchedBytes, longestMs: busy.max / 1e6 };
}
