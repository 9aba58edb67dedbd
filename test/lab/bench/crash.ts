import { setTimeout as delay } from 'node:timers/promises';
import { decodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import { withAdmin, type KafkaAdmin } from '../../../src/kafka/admin.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { readRange } from '../../../src/kafka/read-range.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { deploy, writeKey, type Deployment } from './deployment.ts';
import { summarize, type BenchResult } from './measure.ts';
import { fastDestinations, fastEvent } from './rebalance-load.ts';

/** What is done once more after a worker was killed at full speed. */

export interface CrashBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 3. */
  readonly runs?: number;
  readonly log?: (line: string) => void;
}

const events = 100_000;
const killedAt = 40_000;
const mostRepeated = 5_000;
const mostWaitMs = 120_000;
const pollMs = 5;

/** What one run found. */
interface Crash {
  readonly doneAtKill: number;
  /** How much was done a second until then, since a quarter of that was done. */
  readonly perSecond: number;
  readonly repeated: number;
  readonly lost: number;
}

export async function benchCrash(options: CrashBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, runs = 3, log = () => undefined } = options;
  const crashes = { delivery: [] as Crash[], router: [] as Crash[] };
  for (let run = 0; run < runs; run += 1) {
    const delivery = await crashDelivery(
      await deploy(brokers, `${prefix}delivery-${run}.`, fastDestinations),
    );
    crashes.delivery.push(delivery);
    log(describe('delivery', delivery));
    const router = await crashRouter(
      await deploy(brokers, `${prefix}router-${run}.`, fastDestinations.slice(0, 1)),
    );
    crashes.router.push(router);
    log(describe('router', router));
  }
  return [
    resultOf('delivery worker, killed at full speed: deliveries', crashes.delivery),
    resultOf('router, killed at full speed: calls routed', crashes.router),
  ];
}

async function crashDelivery(deployment: Deployment): Promise<Crash> {
  const { postrider, topology, arrivals } = deployment;
  const { delivery: topic } = topology.topics;
  await write(deployment, (n) => fastEvent(topic, n));
  const role = await postrider.start('delivery');
  const perSecond = await rateUntil(() => arrivals.unique);
  await role.kill('SIGKILL');
  const doneAtKill = arrivals.unique;
  const again = await postrider.start('delivery');
  await until(() => arrivals.unique >= events);
  await again.kill('SIGTERM');
  deployment.close();
  const lost = events - arrivals.unique;
  return { doneAtKill, perSecond, repeated: arrivals.repeated, lost };
}

async function crashRouter(deployment: Deployment): Promise<Crash> {
  const { postrider, topology, kafka } = deployment;
  const { ingest, delivery } = topology.topics;
  await write(deployment, (n) => callOf(ingest, n));
  return withAdmin(kafka, async (admin) => {
    // Each call becomes one event.
    const routed = async (): Promise<number> => written(admin, delivery);
    const role = await postrider.start('router');
    const perSecond = await rateUntil(routed);
    await role.kill('SIGKILL');
    const doneAtKill = await routed();
    const again = await postrider.start('router');
    await until(async () => (await committed(admin, topology.groups.router, ingest)) >= events);
    await again.kill('SIGTERM');
    const ranges = await admin.offsets(delivery);
    const ids = new Set<string>();
    let copies = 0;
    for await (const { headers } of readRange(kafka, { topic: delivery, ranges })) {
      const envelope = decodeEnvelope(headers[envelopeHeader] ?? Buffer.alloc(0));
      copies += 1;
      ids.add(envelope?.messageId ?? '');
    }
    deployment.close();
    return { doneAtKill, perSecond, repeated: copies - ids.size, lost: events - ids.size };
  });
}

function callOf(topic: string, n: number): OutgoingRecord {
  const userId = `user-${n % 9_973}`;
  const call = { type: 'track', messageId: `bench-${n}`, userId, writeKey, event: 'Tick' };
  return { topic, key: userId, value: JSON.stringify(call) };
}

async function write(
  { kafka }: Deployment,
  recordOf: (n: number) => OutgoingRecord,
): Promise<void> {
  const producer = await createProducer(kafka, { log: silentLogger });
  const chunk = 5_000;
  for (let from = 0; from < events; from += chunk)
    await producer.send(Array.from({ length: chunk }, (_, offset) => recordOf(from + offset)));
  await producer.close(10_000);
}

async function written(admin: KafkaAdmin, topic: string): Promise<number> {
  return (await admin.offsets(topic)).reduce((sum, { start, end }) => sum + end - start, 0);
}

async function committed(admin: KafkaAdmin, group: string, topic: string): Promise<number> {
  const offsets = (await admin.committedOffsets(group, [topic])).get(topic) ?? [];
  return offsets.reduce((sum, offset) => sum + Math.max(0, offset), 0);
}

/** Waits until so much is done that the role is killed, and gives how fast that was, in the second. */
async function rateUntil(done: () => number | Promise<number>): Promise<number> {
  await until(async () => (await done()) >= killedAt / 4);
  const startedMs = performance.now();
  const before = await done();
  await until(async () => (await done()) >= killedAt);
  return ((await done()) - before) / ((performance.now() - startedMs) / 1_000);
}

/** Or until it has taken too long: what is missing then is lost. */
async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + mostWaitMs;
  while (!(await check()) && performance.now() < giveUpAtMs) await delay(pollMs);
}

function resultOf(what: string, crashes: readonly Crash[]): BenchResult {
  const repeated = crashes.map((crash) => crash.repeated);
  const lost = crashes.reduce((sum, crash) => sum + crash.lost, 0);
  return {
    name: `crash: ${what} more than once, of ${events}`,
    required: `fewer than ${mostRepeated} in every run, and none lost`,
    ...summarize(repeated),
    passed: lost === 0 && repeated.every((count) => count < mostRepeated),
    absolutes: {
      'done when it was killed': listed(crashes.map(({ doneAtKill }) => doneAtKill)),
      'done a second until then': listed(crashes.map(({ perSecond }) => perSecond)),
      'repeated, ms of work': listed(crashes.map((crash) => workMs(crash))),
      lost: String(lost),
    },
    notes: [
      'What was in flight is repeated, and what was finished since the last commit that Kafka took. A commit is sent every 200 ms, or as soon as 2,000 records are finished.',
    ],
  };
}

function workMs({ repeated, perSecond }: Crash): number {
  return (repeated / perSecond) * 1_000;
}

function listed(figures: readonly number[]): string {
  return figures.map((figure) => figure.toFixed(0)).join(', ');
}

function describe(role: string, crash: Crash): string {
  const { doneAtKill, perSecond, repeated, lost } = crash;
  return `${role}: killed after ${doneAtKill} of ${events} at ${perSecond.toFixed(0)}/s, ${repeated} repeated (${workMs(crash).toFixed(0)} ms of work), ${lost} lost`;
}
