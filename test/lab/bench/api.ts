import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { startConfig } from '../../../src/resources/config/config-store.ts';
import { encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import { exampleDestination, exampleKeys, exampleSource } from '../../resources/examples.ts';
import { loadTopology } from './delivery-load.ts';
import type { BenchResult } from './measure.ts';

export interface ApiLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
}

export interface ApiUsage {
  readonly cpuUs: number;
  readonly rssBytes: number;
}

interface ApiBenchOptions extends ApiLoad {
  readonly log?: (line: string) => void;
}

const destinations = 50_000;
const perCustomer = 10;
const writesPerSecond = 200;
const writingMs = 20_000;
const restMs = 20_000;
const changesPerSecond = 10;
const pages = 200;

/** As in the API's manifest. */
const roleArgv = ['--max-old-space-size=300', '--max-semi-space-size=8', '--v8-pool-size=1'];

/** What an API takes with 50,000 destinations: at rest, for lists, and while it writes. */
export async function benchApi(options: ApiBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  const topology = loadTopology(prefix);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  const producer = await createProducer(kafka, { log: silentLogger });
  const write = async (
    resources: Iterable<Destination | ReturnType<typeof exampleSource>>,
  ): Promise<void> => {
    const topic = topology.topics.config;
    const records = Array.from(resources, (each) => ({
      topic,
      partition: 0,
      key: recordKey(each),
      value: encodeResource(each, exampleKeys),
    }));
    await producer.send(records);
  };
  await write([
    exampleSource(),
    ...Array.from({ length: destinations }, (_, at) => destination(at)),
  ]);
  log(`${destinations} destinations are stored`);
  const child = fork(
    new URL('api-role.ts', import.meta.url),
    [JSON.stringify({ brokers, prefix })],
    {
      execArgv: roleArgv,
    },
  );
  try {
    const [url] = (await once(child, 'message')) as [string];
    // V8 collects what loading has left behind when there is little to do.
    await delay(15_000);
    const atRest = await usageOf(child);
    for (let left = restMs / 1_000; left > 0; left -= 1) {
      await write(
        Array.from({ length: changesPerSecond }, (_, at) => destination(at, `At ${left}`)),
      );
      await delay(1_000);
    }
    const rested = await usageOf(child);
    const restShare = (rested.cpuUs - atRest.cpuUs) / 1_000 / restMs;
    log(`at rest: ${(restShare * 100).toFixed(2)} % of a core`);
    const listMs = await timed(pages, () => ask(url, 'GET', '/v1/destinations?limit=50'));
    const ofCustomerMs = await timed(pages, (at) =>
      ask(url, 'GET', `/v1/destinations?customer=customer-${at}`),
    );
    const config = await startConfig({
      kafka,
      topology,
      log: silentLogger,
      secretKeys: exampleKeys,
    });
    const inForceMs: number[] = [];
    const before = await usageOf(child);
    const writeMs: number[] = [];
    await openLoop(async (at, dueMs) => {
      const name = `Written ${at}`;
      const id = `d${(at * 7_919) % destinations}`;
      const body = { name, sources: ['shop'], webhooks: [{ url: `https://${id}.example.com` }] };
      await ask(url, 'PUT', `/v1/destinations/${id}`, body);
      const answeredMs = performance.now();
      writeMs.push(answeredMs - dueMs);
      await config.caughtUp();
      if (config.destination(id)?.name !== name) throw new Error(`${id} is not in force`);
      inForceMs.push(performance.now() - answeredMs);
    });
    const after = await usageOf(child);
    const writeShare = (after.cpuUs - before.cpuUs) / 1_000 / writingMs;
    await config.stop();
    const one = (
      name: string,
      required: string,
      value: number,
      passed: boolean,
      absolutes: Record<string, string> = {},
    ): BenchResult => {
      const spread = [value, value] as const;
      return { name, required, ratios: [value], median: value, spread, passed, absolutes };
    };
    const p99Ms = percentile(writeMs, 0.99);
    const rssMb = Math.max(after.rssBytes, rested.rssBytes) / 1e6;
    return [
      one(
        `api: ${writesPerSecond} writes a second with 50,000 destinations, p99 in ms`,
        'below 100, with less than a core',
        p99Ms,
        p99Ms < 100 && writeShare < 1,
        {
          'p50, ms': percentile(writeMs, 0.5).toFixed(1),
          'of a core': writeShare.toFixed(2),
          'a write': `${((writeShare * 1_000) / writesPerSecond).toFixed(2)} ms of CPU time`,
        },
      ),
      one(
        'api: from the answer until another process has the change, at most, ms',
        'below 2000',
        Math.max(...inForceMs),
        Math.max(...inForceMs) < 2_000,
        { 'p50, ms': percentile(inForceMs, 0.5).toFixed(1) },
      ),
      one(
        'api: a page of the list, p99 in ms',
        'below 50',
        percentile(listMs, 0.99),
        percentile(listMs, 0.99) < 50,
        {
          'of one customer, p99, ms': percentile(ofCustomerMs, 0.99).toFixed(1),
        },
      ),
      one('api: resident memory with 50,000 destinations, MB', 'below 400', rssMb, rssMb < 400),
      one(
        'api: CPU time while ten destinations a second change, % of a core',
        'below 1',
        restShare * 100,
        restShare < 0.01,
      ),
    ];
  } finally {
    child.kill('SIGKILL');
    await producer.close(10_000);
  }
}

function destination(at: number, name: string = `Destination ${at}`): Destination {
  const id = `d${at}`;
  return exampleDestination({
    id,
    name,
    uid: `uid-${at}`,
    managedBy: 'api',
    customer: `customer-${Math.floor(at / perCustomer)}`,
    webhooks: [{ url: `https://${id}.example.com`, headers: { Authorization: `Bearer ${at}` } }],
  });
}

/** Begins writes at a steady rate, however long each takes. */
async function openLoop(write: (at: number, dueMs: number) => Promise<void>): Promise<void> {
  const running: Promise<void>[] = [];
  const beganMs = performance.now();
  for (let at = 0; at < (writesPerSecond * writingMs) / 1_000; at += 1) {
    const dueMs = beganMs + (at * 1_000) / writesPerSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await delay(waitMs);
    running.push(write(at, dueMs));
  }
  await Promise.all(running);
}

async function timed(times: number, work: (at: number) => Promise<unknown>): Promise<number[]> {
  const durations: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const beganMs = performance.now();
    await work(at);
    durations.push(performance.now() - beganMs);
  }
  return durations;
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** More than the API takes of one client would be closed. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** @throws Error for an answer that is no success */
async function ask(base: string, method: string, path: string, body?: object): Promise<void> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const asking = request(`${base}${path}`, { method, agent, headers });
  asking.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(asking, 'response')) as [import('node:http').IncomingMessage];
  const text = (await response.toArray()).join('');
  if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${text}`);
}

async function usageOf(child: ChildProcess): Promise<ApiUsage> {
  child.send('usage');
  const [usage] = (await once(child, 'message')) as [ApiUsage];
  return usage;
}
