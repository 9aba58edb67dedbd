import { setTimeout as delay } from 'node:timers/promises';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { catchUp } from './catch-up.ts';
import { cpuPerUnit, judge, type RequiredRatio } from './compare.ts';
import { medianOf, runMeasured, summarize, type BenchResult, type Measurement } from './measure.ts';
import {
  readingPartitions,
  readingRecord,
  readingTopology,
  writeBatches,
  type ReadingLoad,
} from './reading-load.ts';

/** What reading costs by itself, with our client and with stock kafkajs, and how much is fetched to catch up. */

export interface ReadingBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 5. */
  readonly rounds?: number;
  readonly log?: (line: string) => void;
}

const bulk = { batches: 500, recordsPerBatch: 100 };
const bulkRecords = bulk.batches * bulk.recordsPerBatch * readingPartitions;

/** Every hundredth of a second a few records arrive together, as from a flush of a producer. */
const everyMs = 10;
const recordsAtOnce = 3;
const quietSeconds = 20;
const quietWarmUpSeconds = 5;
const quietPerSecond = (1_000 / everyMs) * recordsAtOnce;

const cheaperThanStock: RequiredRatio = { above: 1 };

export async function benchReading(options: ReadingBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  await writeBatches(brokers, `${prefix}bulk.`, bulk);
  const bulkRead = await alternate(options, 'bulk: 12 partitions, 100 records a batch, zstd', {
    own: (round) => readBulk(brokers, `${prefix}bulk.`, 'reading-own.ts', `own-${round}`),
    stock: (round) => readBulk(brokers, `${prefix}bulk.`, 'reading-stock.ts', `stock-${round}`),
  });
  const quietRead = await alternate(
    options,
    `quiet: 36 partitions, ${quietPerSecond} records a second`,
    {
      own: (round) => readQuiet(brokers, `${prefix}quiet-own-${round}.`, 'reading-own.ts'),
      stock: (round) => readQuiet(brokers, `${prefix}quiet-stock-${round}.`, 'reading-stock.ts'),
    },
  );
  return [bulkRead, quietRead, ...(await catchUp({ brokers, prefix, log }))];
}

interface Readers {
  readonly own: (round: number) => Promise<Measurement>;
  readonly stock: (round: number) => Promise<Measurement>;
}

async function alternate(
  { rounds = 5, log = () => undefined }: ReadingBenchOptions,
  regime: string,
  { own, stock }: Readers,
): Promise<BenchResult> {
  const us: { own: number; stock: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const measured = { stock: cpuPerUnit(await stock(round)), own: cpuPerUnit(await own(round)) };
    us.push(measured);
    log(`${regime}: stock ${measured.stock.toFixed(2)} µs, own ${measured.own.toFixed(2)} µs`);
  }
  const ratios = us.map((each) => each.stock / each.own);
  return {
    name: `reading, ${regime}: records a CPU second, our client against stock kafkajs`,
    ...summarize(ratios),
    ...judge(medianOf(ratios), cheaperThanStock),
    absolutes: {
      'stock kafkajs, CPU µs a record': medianOf(us.map((each) => each.stock)).toFixed(2),
      'our client, CPU µs a record': medianOf(us.map((each) => each.own)).toFixed(2),
    },
  };
}

/** Of a topic with a backlog, from its beginning to its end. */
export async function readBulk(
  brokers: readonly string[],
  prefix: string,
  script: string,
  group: string,
): Promise<Measurement> {
  const load: ReadingLoad = {
    brokers,
    group: `${prefix}${group}`,
    topics: [readingTopology(prefix).topics.delivery],
    lateTopics: [],
    warmUp: bulkRecords / 4,
    total: bulkRecords,
  };
  return runMeasured(new URL(script, import.meta.url), load);
}

/** While few records arrive, at a steady rate, in topics that nobody else reads. */
export async function readQuiet(
  brokers: readonly string[],
  prefix: string,
  script: string,
): Promise<Measurement> {
  const topology = readingTopology(prefix);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  const producer = await createProducer(kafka, { log: silentLogger });
  const { delivery } = topology.topics;
  const lateTopics = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  const load: ReadingLoad = {
    brokers,
    group: prefix,
    topics: [delivery, ...lateTopics],
    lateTopics,
    warmUp: quietPerSecond * quietWarmUpSeconds,
    total: quietPerSecond * (quietWarmUpSeconds + quietSeconds),
  };
  const isOver = new AbortController();
  let written: Promise<void> | undefined;
  const measured = await runMeasured(new URL(script, import.meta.url), load, [], () => {
    written ??= trickle(producer, delivery, isOver.signal);
  });
  isOver.abort();
  await written;
  await producer.close(5_000);
  return measured;
}

async function trickle(producer: Producer, topic: string, isOver: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  for (let n = 0; !isOver.aborted; n += recordsAtOnce) {
    const dueMs = startedMs + (n / recordsAtOnce) * everyMs;
    if (dueMs > performance.now()) await delay(dueMs - performance.now());
    for (let offset = 0; offset < recordsAtOnce; offset += 1) {
      const { key, value, headers } = readingRecord(n + offset);
      producer.produce({ topic, key, value, headers }, () => undefined);
    }
  }
}
