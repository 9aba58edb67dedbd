import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DestinationList } from '../../../src/console/api/answers/destinations.ts';
import type { Page } from '../../../src/console/api/answers/shapes.ts';
import { statusKey, type StatusRecord } from '../../../src/event/destination-status.ts';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { recordKey } from '../../../src/resources/config/stored.ts';
import type { Topology } from '../../../src/topology.ts';
import { loadTopology } from './delivery-load.ts';
import { consoleEnvironment, medianOf, type BenchResult } from './measure.ts';
import { variable } from './variables.ts';

export interface ConsoleBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

export interface ConsoleLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly dataDir: string;
}

export interface ConsoleUsage {
  readonly cpuUs: number;
  readonly rssBytes: number;
  readonly mostRssBytes: number;
}

/** Ten million take a few minutes. */
const attempts = variable('BENCH_ATTEMPTS');
const destinations = 5_000;
const linesPerRecord = 200;
const recordsAtOnce = 200;
const spanMs = 3 * 86_400_000;
const rounds = 40;

const leastPerSecond = 50_000;
const mostBytes = 60;
const mostPageMs = 300;
const mostPageBytes = 200_000;
const mostRssBytes = 600_000_000;

/** How fast attempts are indexed, what they take, and how long pages take when all are. */
export async function benchConsole(options: ConsoleBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  const topology = loadTopology(prefix);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  const producer = await createProducer(kafka, { log: silentLogger });
  await writeDestinations(producer, topology);
  await writeAttempts(producer, topology, log);
  const dataDir = await mkdtemp(path.join(tmpdir(), 'postrider-bench-'));
  const load: ConsoleLoad = { brokers, prefix, dataDir };
  const child = fork(new URL('console-role.ts', import.meta.url), [JSON.stringify(load)], {
    execArgv: [],
    env: { ...process.env, ...consoleEnvironment },
  });
  try {
    const [url] = (await once(child, 'message')) as [string];
    const before = await usageOf(child);
    const beganMs = performance.now();
    await untilCaughtUp(url);
    const wallMs = performance.now() - beganMs;
    const indexing = await usageOf(child);
    const perCpuSecond = attempts / ((indexing.cpuUs - before.cpuUs) / 1e6);
    log(`indexed ${attempts} in ${(wallMs / 1_000).toFixed(0)} s`);
    // What holds for now only.
    await producer.send(statuses(topology));
    const { size } = await stat(path.join(dataDir, 'console.duckdb'));
    const pages = await timePages(url, log);
    const after = await usageOf(child);
    const rssBytes = Math.max(after.mostRssBytes, indexing.mostRssBytes);
    const slowest = Math.max(...pages.map(({ p95Ms }) => p95Ms));
    const largest = Math.max(...pages.map(({ bytes }) => bytes));
    const one = (
      name: string,
      required: string,
      value: number,
      passed: boolean,
      absolutes: Record<string, string> = {},
      notes: readonly string[] = [],
    ): BenchResult => {
      const spread = [value, value] as const;
      return { name, required, ratios: [value], median: value, spread, passed, absolutes, notes };
    };
    return [
      one(
        `console: attempts indexed in a second of CPU time, of ${attempts.toLocaleString('en-US')}`,
        `at least ${leastPerSecond}`,
        perCpuSecond,
        perCpuSecond >= leastPerSecond,
        { 'a second': (attempts / (wallMs / 1_000)).toFixed(0) },
      ),
      one(
        'console: bytes of disk an attempt',
        `at most ${mostBytes}`,
        size / attempts,
        size / attempts <= mostBytes,
      ),
      one(
        'console: resident memory at most, MB',
        'below 600',
        rssBytes / 1e6,
        rssBytes < mostRssBytes,
      ),
      one(
        'console: the slowest page, p95 in ms',
        `below ${mostPageMs}, and ${mostPageBytes} bytes`,
        slowest,
        slowest < mostPageMs && largest < mostPageBytes,
        Object.fromEntries(
          pages.map(({ route, p50Ms, p95Ms, bytes }) => [
            route,
            `p50 ${p50Ms.toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms, ${bytes} bytes`,
          ]),
        ),
      ),
    ];
  } finally {
    child.kill('SIGKILL');
    await producer.close(10_000);
    await rm(dataDir, { recursive: true, force: true });
  }
}

function destinationOf(index: number): string {
  return `customer-${index}`;
}

function urlOf(index: number): string {
  return `https://hooks.customer-${index}.example/events`;
}

async function writeDestinations(producer: Producer, { topics }: Topology): Promise<void> {
  const records = Array.from({ length: destinations }, (_, index): OutgoingRecord => {
    const id = destinationOf(index);
    const resource = {
      kind: 'Destination',
      id,
      name: `Customer ${index}`,
      sources: ['shop'],
      webhooks: [{ url: urlOf(index) }],
    };
    const key = recordKey({ kind: 'Destination', id });
    return { topic: topics.config, key, value: JSON.stringify({ version: 1, resource }) };
  });
  await producer.send(records);
}

function statuses({ topics }: Topology): OutgoingRecord[] {
  const at = new Date().toISOString();
  const worker = 'bench';
  const all: StatusRecord[] = [
    {
      kind: 'worker',
      worker,
      at,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      startedAt: at,
      inFlight: 0,
      queued: 0,
      isCutOff: false,
      topics: {},
    },
  ];
  for (let index = 0; index < destinations; index += 1) {
    const url = urlOf(index);
    all.push({
      kind: 'destination',
      worker,
      at,
      destination: destinationOf(index),
      state: index % 20 === 0 ? 'failing' : 'ok',
      since: at,
      urls: [
        {
          url,
          breaker: 'closed',
          lastAnswer: { at, outcome: 'failed', status: 500, answer: 'no' },
        },
      ],
      waiting: { here: 1, tiers: { '10s': 3 } },
      inFlight: 1,
      perMinute: { delivered: 10, failed: 1 },
      p50Ms: 20,
      p99Ms: 90,
    });
  }
  return all.map((record) => ({
    topic: topics.destinationStatus,
    key: statusKey(worker, record.kind === 'destination' ? record.destination : undefined),
    value: JSON.stringify(record),
  }));
}

/** One in twenty fails, and is put off. */
async function writeAttempts(
  producer: Producer,
  { topics }: Topology,
  log: (line: string) => void,
): Promise<void> {
  const fromMs = Date.now() - spanMs;
  const stepMs = spanMs / attempts;
  let batch: OutgoingRecord[] = [];
  for (let first = 0; first < attempts; first += linesPerRecord) {
    const lines: string[] = [];
    for (let each = first; each < first + linesPerRecord; each += 1) {
      const index = Math.floor(Math.random() * destinations);
      const at = new Date(fromMs + each * stepMs).toISOString();
      const of = `"at":"${at}","destination":"${destinationOf(index)}","source":"shop","messageId":"${randomUUID()}","user":"user-${Math.floor(Math.random() * 1e6)}","type":"track"`;
      const chance = Math.random();
      if (chance < 0.05)
        lines.push(
          `{"kind":"attempt",${of},"attempt":1,"url":"${urlOf(index)}","outcome":"failed","status":500,"tookMs":${Math.floor(Math.random() * 900)},"cause":"status-5xx","detail":"answered 500","answer":"upstream connect error"}`,
        );
      else if (chance < 0.1)
        lines.push(`{"kind":"retry",${of},"attempts":1,"until":"${at}","deadline":"${at}"}`);
      else
        lines.push(
          `{"kind":"attempt",${of},"attempt":1,"url":"${urlOf(index)}","outcome":"delivered","status":200,"tookMs":${Math.floor(Math.random() * 200)}}`,
        );
    }
    const partition = (first / linesPerRecord) % 12;
    batch.push({ topic: topics.attempts, partition, key: null, value: lines.join('\n') });
    if (batch.length < recordsAtOnce) continue;
    await producer.send(batch);
    batch = [];
    if ((first / linesPerRecord) % 10_000 === 0) log(`written ${first}`);
  }
  await producer.send(batch);
}

async function usageOf(child: ChildProcess): Promise<ConsoleUsage> {
  child.send('usage');
  const [usage] = (await once(child, 'message')) as [ConsoleUsage];
  return usage;
}

async function untilCaughtUp(url: string): Promise<void> {
  for (;;) {
    const { indexing } = await get<DestinationList>(`${url}/api/v1/destinations?limit=1`);
    if (indexing.isCaughtUp) return;
    await delay(250);
  }
}

async function get<T>(address: string): Promise<T> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface PageTime {
  readonly route: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly bytes: number;
}

async function timePages(url: string, log: (line: string) => void): Promise<readonly PageTime[]> {
  const sample = await get<Page<{ messageId: string; user: string }>>(
    `${url}/api/v1/destinations/customer-7/attempts?limit=1`,
  );
  const { messageId = '', user = '' } = sample.items[0] ?? {};
  const routes = [
    '/destinations',
    '/destinations?search=customer-49',
    '/destinations/{id}',
    '/destinations/{id}/series?range=1h',
    '/destinations/{id}/series?range=24h',
    '/destinations/{id}/series?range=3d',
    '/destinations/{id}/attempts',
    '/destinations/{id}/attempts?failed=true',
    '/destinations/{id}/attempts?user=user-17',
    `/destinations/customer-7/attempts?message=${messageId}`,
    `/events/search?user=${user}`,
    '/dead-letters',
    '/dead-letters/summary',
    '/pipeline',
  ];
  const times: PageTime[] = [];
  for (const route of routes) {
    const tookMs: number[] = [];
    let bytes = 0;
    for (let round = 0; round < rounds; round += 1) {
      const id = destinationOf((round * 97) % destinations);
      const beganMs = performance.now();
      const response = await fetch(`${url}/api/v1${route.replace('{id}', id)}`);
      const body = await response.arrayBuffer();
      tookMs.push(performance.now() - beganMs);
      if (!response.ok) throw new Error(`${route}: ${Buffer.from(body).toString()}`);
      bytes = Math.max(bytes, body.byteLength);
    }
    tookMs.sort((a, b) => a - b);
    const p95Ms = tookMs[Math.floor(rounds * 0.95)] ?? 0;
    times.push({ route, p50Ms: medianOf(tookMs), p95Ms, bytes });
    log(`${route}: ${medianOf(tookMs).toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms`);
  }
  return times;
}
