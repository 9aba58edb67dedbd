import { fork } from 'node:child_process';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { connections, loadTopology, type GatewayLoad } from './gateway-load.ts';
import { compare } from './compare.ts';
import {
  firstLine,
  medianOf,
  runMeasured,
  summarize,
  type BenchResult,
  type Measurement,
} from './measure.ts';

export interface GatewayBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics that nobody else uses. */
  readonly prefix: string;
  /** Default 5. */
  readonly rounds?: number;
  readonly log?: (line: string) => void;
}

interface Shape {
  readonly name: string;
  readonly callsPerRequest: number;
  /** Calls, until what is measured is compiled. */
  readonly warmUp: number;
  readonly total: number;
  /** Of the calls that a bare handler over our client takes in a second of CPU time. */
  readonly leastShare: number;
}

const shapes: readonly Shape[] = [
  {
    name: 'batches of 100',
    callsPerRequest: 100,
    warmUp: 200_000,
    total: 600_000,
    leastShare: 0.8,
  },
  { name: 'single calls', callsPerRequest: 1, warmUp: 40_000, total: 160_000, leastShare: 0.85 },
];

const halfLoadMs = 4_000;
const mostP99Ms = 20;

/** Calls per CPU second of the gateway against bare handlers, and its latency at half of what it can do. */
export async function benchGateway(options: GatewayBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, rounds = 5, log = () => undefined } = options;
  const { all, topics } = loadTopology(prefix);
  await ensureTopics(
    createKafka({ brokers, clientId: 'bench' }, silentLogger),
    all.filter(({ name }) => [topics.ingest, topics.ingestRejected].includes(name)),
  );
  const results: BenchResult[] = [];
  for (const shape of shapes) {
    const { name, callsPerRequest, leastShare } = shape;
    const load: GatewayLoad = { brokers, prefix, ...shape };
    const required = { atLeast: leastShare };
    const rates: number[] = [];
    const compared = await compare({
      name: `gateway, ${name}, ${connections} connections: calls`,
      unit: 'call',
      bare: 'bare fastify handler',
      rounds,
      stock: { required, run: () => pressed('gateway-bare-stock.ts', load) },
      own: { required, run: () => pressed('gateway-bare-own.ts', load) },
      role: async () => {
        const measured = await pressed('gateway-role.ts', load);
        rates.push((measured.deliveries / measured.wallMs) * 1_000);
        return measured;
      },
      notes: [
        'The bare handler parses JSON and writes it as it is. The role also checks and completes each call, knows its write key, bounds what it holds in memory and how long bodies may take, and writes headers.',
      ],
      log,
    });
    const perSecond = medianOf(rates);
    const absolutes = { 'role, calls/s': perSecond.toFixed(0) };
    for (const result of compared)
      results.push({ ...result, absolutes: { ...result.absolutes, ...absolutes } });
    const requestsPerSecond = perSecond / callsPerRequest / 2;
    results.push(await latencyOf(shape, load, requestsPerSecond, log));
  }
  return results;
}

/** A run of the script under full load. */
async function pressed(script: string, load: GatewayLoad): Promise<Measurement> {
  return runMeasured(new URL(script, import.meta.url), load, [], (port) => {
    const press = startPress({ port, callsPerRequest: load.callsPerRequest });
    press.stdout?.resume();
  });
}

async function latencyOf(
  { name, callsPerRequest }: Shape,
  load: GatewayLoad,
  requestsPerSecond: number,
  log: (line: string) => void,
): Promise<BenchResult> {
  const script = new URL('gateway-role.ts', import.meta.url);
  const unmeasured = { ...load, warmUp: Number.MAX_SAFE_INTEGER, total: Number.MAX_SAFE_INTEGER };
  const gateway = fork(script, [JSON.stringify(unmeasured)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = await new Promise<number>((resolve) => gateway.once('message', resolve));
  const p99s: number[] = [];
  // The first two only warm up: a backlog of uncompiled code's making must be gone.
  for (const isMeasured of [false, false, true, true, true]) {
    const press = startPress({ port, callsPerRequest, requestsPerSecond, forMs: halfLoadMs });
    const p99 = Number(await firstLine(press));
    log(`half load, ${requestsPerSecond.toFixed(0)} requests/s: p99 ${p99.toFixed(1)} ms`);
    if (isMeasured) p99s.push(p99);
  }
  gateway.kill();
  const median = medianOf(p99s);
  return {
    name: `gateway, ${name}: p99 at half load, ms`,
    required: `under ${mostP99Ms}`,
    ...summarize(p99s),
    passed: median < mostP99Ms,
    absolutes: { 'requests/s': requestsPerSecond.toFixed(0) },
  };
}

function startPress(press: object): ReturnType<typeof fork> {
  return fork(new URL('gateway-press.ts', import.meta.url), [JSON.stringify(press)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

if (import.meta.main) {
  const brokers = process.env['KAFKA_BROKERS']?.split(',') ?? [];
  const prefix = `bench${process.pid}.`;
  const rounds = Number(process.argv[2] ?? 5);
  const results = await benchGateway({ brokers, prefix, rounds, log: console.log });
  console.log(JSON.stringify(results, null, 2));
}
