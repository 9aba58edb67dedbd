import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../../src/dev/receiver.ts';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createTopology } from '../../../src/topology.ts';
import { install } from '../../harness/postrider.ts';
import { medianOf, type BenchResult } from './measure.ts';

/** From produce to arrival at 100 events a second: router and delivery worker against a bare chain. */

export interface LatencyBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly pairs?: number;
  readonly log?: (line: string) => void;
}

const eventsPerSecond = 100;
/** Until both sides run compiled code: the first seconds of either say little about the others. */
const warmUpEvents = 1_000;
const measuredEvents = 800;
const mostRatio = 1.5;

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export async function benchLatency(options: LatencyBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, pairs = 5, log = () => undefined } = options;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const samples: { bare: Percentiles; role: Percentiles }[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const bare = await measureBare(brokers, `${prefix}bare-${pair}.`, producer);
    const role = await measureRoles(`${prefix}role-${pair}.`, producer);
    samples.push({ bare, role });
    log(`latency: bare ${describe(bare)}; router and delivery ${describe(role)}`);
  }
  await producer.close(5_000);
  return (['p50', 'p99'] as const).map((percentile) => resultOf(percentile, samples));
}

function resultOf(
  percentile: keyof Percentiles,
  samples: readonly { bare: Percentiles; role: Percentiles }[],
): BenchResult {
  const ratios = samples.map(({ bare, role }) => role[percentile] / bare[percentile]);
  const median = medianOf(ratios);
  return {
    name: `latency ${percentile} at ${eventsPerSecond} events/s, against a bare two-hop chain`,
    required: `at most ${mostRatio}`,
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median <= mostRatio,
    absolutes: {
      'bare chain, ms': medianOf(samples.map(({ bare }) => bare[percentile])).toFixed(1),
      'router and delivery, ms': medianOf(samples.map(({ role }) => role[percentile])).toFixed(1),
    },
  };
}

async function measureBare(
  brokers: readonly string[],
  prefix: string,
  producer: Producer,
): Promise<Percentiles> {
  const topology = topologyOf(prefix);
  const { ingest, delivery } = topology.topics;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  await ensureTopics(
    kafka,
    topology.all.filter(({ name }) => [ingest, delivery].includes(name)),
  );
  return measure(producer, ingest, async (url) => {
    const chain = { brokers, from: ingest, to: delivery, group: prefix, url };
    const child = fork(new URL('latency-bare.ts', import.meta.url), [JSON.stringify(chain)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    await once(child.stdout ?? child, 'data');
    return async () => {
      child.disconnect();
      await once(child, 'exit');
    };
  });
}

async function measureRoles(prefix: string, producer: Producer): Promise<Percentiles> {
  const postrider = await install({ TOPIC_PREFIX: prefix, TOPIC_PARTITIONS: '12' });
  await postrider.run(['topics', '--create']);
  return measure(producer, topologyOf(prefix).topics.ingest, async (url) => {
    const resources = [
      { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
      { kind: 'Destination', id: 'crm', name: 'CRM', sources: ['shop'], webhooks: [{ url }] },
    ];
    await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
    const roles = [await postrider.start('router'), await postrider.start('delivery')];
    return async () => {
      await Promise.all(roles.map((role) => role.kill('SIGTERM')));
    };
  });
}

/** `start` runs what is measured, delivering to the URL, and returns how to stop it. */
async function measure(
  producer: Producer,
  topic: string,
  start: (url: string) => Promise<() => Promise<void>>,
): Promise<Percentiles> {
  const sentMs = new Map<number, number>();
  const latencies: number[] = [];
  const receiver = await startReceiver({
    port: 0,
    answer: ({ body }) => {
      const { properties } = JSON.parse(body.toString()) as { properties: { n: number } };
      const sent = sentMs.get(properties.n);
      if (sent !== undefined) latencies.push(performance.now() - sent);
      sentMs.delete(properties.n);
      return { status: 200 };
    },
  });
  const stop = await start(receiver.url);
  const startedMs = performance.now();
  for (let n = 0; n < warmUpEvents + measuredEvents; n += 1) {
    const dueMs = startedMs + (n * 1_000) / eventsPerSecond;
    if (dueMs > performance.now()) await delay(dueMs - performance.now());
    sentMs.set(n, performance.now());
    const userId = `user-${n % 97}`;
    const call = { type: 'track', userId, writeKey: 'wk', event: 'Tick', properties: { n } };
    producer.produce({ topic, key: userId, value: JSON.stringify(call) }, () => undefined);
  }
  while (sentMs.size > 0) await delay(50);
  await stop();
  await receiver.close();
  return percentilesOf(latencies.slice(warmUpEvents));
}

function percentilesOf(latencies: readonly number[]): Percentiles {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

function topologyOf(prefix: string): ReturnType<typeof createTopology> {
  return createTopology({
    prefix,
    partitions: 12,
    replicationFactor: 1,
    retryTiersMs: [10_000],
    extraIngestTopics: [],
  });
}

function describe({ p50, p99 }: Percentiles): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}

if (import.meta.main) {
  const brokers = process.env['KAFKA_BROKERS']?.split(',') ?? [];
  const results = await benchLatency({
    brokers,
    prefix: `bench${process.pid}.`,
    pairs: Number(process.argv[2] ?? 5),
    log: console.log,
  });
  console.log(JSON.stringify(results, null, 2));
}
