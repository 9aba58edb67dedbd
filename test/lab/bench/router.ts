import { randomBytes, randomUUID } from 'node:crypto';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { compare } from './compare.ts';
import { runMeasured, type BenchResult, type Measurement } from './measure.ts';
import { benchFilters } from './router-filters.ts';
import { copiesPerCall, loadTopology, type RouterLoad } from './router-load.ts';
import { benchTemplate } from './template.ts';

export interface RouterBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 5. */
  readonly rounds?: number;
  readonly calls?: number;
  readonly log?: (line: string) => void;
}

/**
 * Deliveries per CPU second of the router at one call to three destinations, as a share of each bare loop's; and what
 * a shaped body and filters cost.
 */
export async function benchRouter(options: RouterBenchOptions): Promise<BenchResult[]> {
  const { prefix, rounds = 5, calls = 60_000, log = () => undefined } = options;
  const total = calls * copiesPerCall;
  const filters = benchFilters(log);
  const loops = await withRouterLoad({ ...options, calls, warmUp: total / 4 }, (run) =>
    compare({
      name: 'router, 1 call to 3 destinations: deliveries',
      rounds,
      stock: {
        required: undefined,
        run: (round) => run('router-bare-stock.ts', `${prefix}stock-${round}`),
      },
      own: {
        required: { atLeast: 0.75 },
        run: (round) => run('router-bare-own.ts', `${prefix}own-${round}`),
      },
      role: (round) => run('router-role.ts', `${prefix}role-${round}`),
      log,
    }),
  );
  return [...loops, ...filters, benchTemplate(callOf(0, 'user-0'))];
}

type RunScript = (
  script: string,
  group: string,
  execArgv?: readonly string[],
) => Promise<Measurement>;

interface RouterLoadOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly calls: number;
  /** Copies that are not measured. */
  readonly warmUp: number;
}

/** With the calls in the ingest topic, which every run's group reads from its beginning. */
export async function withRouterLoad<T>(
  { brokers, prefix, calls, warmUp }: RouterLoadOptions,
  use: (run: RunScript) => Promise<T>,
): Promise<T> {
  await writeCalls(brokers, prefix, calls);
  return use((script, group, execArgv) => {
    const total = calls * copiesPerCall;
    const load: RouterLoad = { brokers, prefix, group, warmUp, total };
    return runMeasured(new URL(script, import.meta.url), load, execArgv);
  });
}

async function writeCalls(
  brokers: readonly string[],
  prefix: string,
  calls: number,
): Promise<void> {
  const topology = loadTopology({ prefix, group: '' });
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  const producer = await createProducer(kafka, { log: silentLogger });
  const chunk = 5_000;
  for (let from = 0; from < calls; from += chunk) {
    await producer.send(
      Array.from({ length: Math.min(chunk, calls - from) }, (_, offset) => {
        const index = from + offset;
        const userId = `user-${index % 9_973}`;
        return { topic: topology.topics.ingest, key: userId, value: callOf(index, userId) };
      }),
    );
  }
  await producer.close(10_000);
}

/** About 600 bytes, of which random ones keep compression from being too easy. */
function callOf(index: number, userId: string): string {
  return JSON.stringify({
    type: 'track',
    messageId: randomUUID(),
    userId,
    writeKey: 'wk_shop',
    event: 'Order Completed',
    timestamp: '2026-11-20T18:59:40.123Z',
    properties: { order_id: index, total: 39.95, currency: 'GBP', note: filler() },
    context: { ip: '203.0.113.7', library: { name: 'bench', version: '1.0.0' } },
  });
}

/** 300 bytes that compress to about half, as real events do. */
function filler(): string {
  return randomBytes(150).toString('hex');
}

if (import.meta.main) {
  const brokers = process.env['KAFKA_BROKERS']?.split(',') ?? [];
  const prefix = `bench${process.pid}.`;
  const rounds = Number(process.argv[2] ?? 5);
  const results = await benchRouter({ brokers, prefix, rounds, log: console.log });
  console.log(JSON.stringify(results, null, 2));
}
