import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { attemptLine } from '../../../src/delivery/journal/lines.ts';
import { deliveredWith } from '../../../src/delivery/outcome.ts';
import {
  deliveryKey,
  encodeEnvelope,
  envelopeHeader,
  type Envelope,
} from '../../../src/event/envelope.ts';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../../src/kafka/client.ts';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import { encodeBatch, type BatchRecord } from '../../../src/kafka/protocol/batch-writer.ts';
import { lz4OrZstd } from '../../../src/kafka/protocol/codecs.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createTopology, type Topology } from '../../../src/topology.ts';
import { runCommand, type Environment } from '../../harness/run-command.ts';
import { medianOf, summarize, type BenchResult } from './measure.ts';

export interface ExplainBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly rounds?: number;
  /** Calls and events an hour, in 12 partitions. */
  readonly perHour?: number;
  readonly log?: (text: string) => void;
}

const hourMs = 3_600_000;
const partitions = 12;
const mostMs = 2_000;
const user = 'u-sought';
/** How long ago the events were received that are asked for. */
const agesMs = [5, 30, 59].map((minutes) => minutes * 60_000);
/** One at a time, as gateways write them at this rate, and as routers do; a page of `attempts` is 64 KB. */
const perBatch = { ingest: 1, delivery: 4 };
const linesPerPage = 220;
const requests = 64;

/**
 * How long `postrider explain --user` takes, the process's start included, for events of the last hour. Only
 * those partitions are filled that it may read: an hour of each, in records of their producers' times.
 */
export async function benchExplain(options: ExplainBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, rounds = 5, perHour = 10_000_000, log = () => undefined } = options;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const topology = createTopology({
    prefix,
    partitions,
    replicationFactor: 1,
    retryTiersMs: [10_000],
    extraIngestTopics: [],
  });
  await makeTopics(kafka, topology);
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: prefix,
    RETRY_TIERS: '10s',
  };
  const nowMs = Date.now();
  await writeResources(kafka, topology.topics.config, nowMs - 2 * hourMs);
  const count = Math.round(perHour / partitions);
  log(`filling three partitions with ${count} each`);
  const megabytes = await fill(kafka, topology, nowMs, count);
  log(`${megabytes.map((each) => each.toFixed(0)).join(' + ')} MB`);
  const seconds: number[] = [];
  const absolutes: Record<string, string> = {};
  for (const ageMs of agesMs) {
    const own: number[] = [];
    for (let round = 0; round < rounds; round += 1) own.push(await ask(env, ageMs));
    seconds.push(...own);
    absolutes[`received ${ageMs / 60_000} min ago, s`] = summarizeText(own);
  }
  return [
    {
      name: 'explain: seconds for an event of the last hour, of its user, from start to answer',
      ...summarize(seconds),
      required: `below ${mostMs / 1_000}`,
      passed: Math.max(...seconds) < mostMs / 1_000,
      absolutes,
    },
  ];
}

function summarizeText(seconds: readonly number[]): string {
  return `${medianOf(seconds).toFixed(2)} (to ${Math.max(...seconds).toFixed(2)})`;
}

async function makeTopics(kafka: KafkaClient, { all, topics }: Topology): Promise<void> {
  const filled: readonly string[] = [
    topics.config,
    topics.ingest,
    topics.delivery,
    topics.attempts,
  ];
  await withAdmin(kafka, (admin) =>
    admin.createTopics(
      all.map((topic) =>
        filled.includes(topic.name)
          ? { ...topic, config: { ...topic.config, 'message.timestamp.type': 'CreateTime' } }
          : topic,
      ),
    ),
  );
}

/** Older than all calls. */
async function writeResources(kafka: KafkaClient, topic: string, timeMs: number): Promise<void> {
  const webhooks = [{ url: 'https://e.test' }];
  const destination = { kind: 'Destination', sources: ['shop'], webhooks };
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    { ...destination, id: 'crm', name: 'CRM' },
    { ...destination, id: 'pages', name: 'Pages', events: ['page'] },
  ];
  const records = resources.map((resource) => ({
    key: `${resource.kind}/${resource.id}`,
    value: JSON.stringify({ version: 1, resource }),
  }));
  const recordsOf = (): readonly BatchRecord[] => records;
  const filling = { perBatch: records.length, recordsOf, timeMs: () => timeMs };
  await write(kafka, { topic, partition: 0 }, records.length, filling);
}

/** Seconds. */
async function ask(env: Environment, ageMs: number): Promise<number> {
  const startedMs = performance.now();
  const command = ['explain', soughtId(ageMs), '--user', user, '-o', 'json'];
  const { code, stdout, stderr } = await runCommand(command, env, '');
  const tookMs = performance.now() - startedMs;
  assert.equal(code, 0, stderr);
  const story = JSON.parse(stdout) as { destinations: { destination: string; state: string }[] };
  assert.deepEqual(
    story.destinations.map(({ destination, state }) => [destination, state]),
    [
      ['crm', 'delivered'],
      ['pages', 'unwanted'],
    ],
  );
  return tookMs / 1_000;
}

function soughtId(ageMs: number): string {
  return `0b9c2a64-7d1e-4f35-${ageMs}-a1d27e90c38b`;
}

/** Megabytes of calls, events and lines, as they are stored. */
async function fill(
  kafka: KafkaClient,
  { topics }: Topology,
  nowMs: number,
  count: number,
): Promise<readonly number[]> {
  const own = partitionOf(deliveryKey('crm', user), partitions);
  const step = hourMs / count;
  const soughtAt = new Map(
    agesMs.map((ageMs) => [Math.round((hourMs - ageMs) / step), soughtId(ageMs)]),
  );
  const event = (index: number): Made => {
    const timeMs = Math.round(nowMs - hourMs + index * step);
    const messageId = soughtAt.get(index);
    return { timeMs, messageId: messageId ?? randomUUID(), user: messageId ? user : userAt(index) };
  };
  return [
    await write(kafka, { topic: topics.ingest, partition: partitionOf(user, partitions) }, count, {
      perBatch: perBatch.ingest,
      recordsOf: (from, to) => range(from, to).map((index) => callOf(event(index))),
      timeMs: (index) => event(index).timeMs,
    }),
    await write(kafka, { topic: topics.delivery, partition: own }, count, {
      perBatch: perBatch.delivery,
      recordsOf: (from, to) => range(from, to).map((index) => copyOf(event(index))),
      // Routed some milliseconds later.
      timeMs: (index) => event(index).timeMs + 10,
    }),
    await write(kafka, { topic: topics.attempts, partition: own }, count, {
      perBatch: linesPerPage,
      recordsOf: (from, to) => {
        const lines = range(from, to).map((index) => lineOf(event(index)));
        return [{ key: null, value: lines.join('') }];
      },
      // A page is written when it is full, or after a second.
      timeMs: (index) => event(index).timeMs + 1_000,
    }),
  ];
}

interface Made {
  readonly timeMs: number;
  readonly messageId: string;
  readonly user: string;
}

interface Filling {
  readonly perBatch: number;
  readonly recordsOf: (from: number, to: number) => readonly BatchRecord[];
  readonly timeMs: (index: number) => number;
}

/** Batches in the order of their times, many at a time; megabytes. */
async function write(
  kafka: KafkaClient,
  { topic, partition }: { readonly topic: string; readonly partition: number },
  count: number,
  { perBatch: size, recordsOf, timeMs }: Filling,
): Promise<number> {
  const cluster = kafka.openCluster();
  await cluster.refresh([topic]);
  const leader = cluster.topic(topic)?.partitions[partition]?.leader ?? -1;
  const origin = { producerId: -1, epoch: -1, sequence: -1 };
  let next = 0;
  let bytes = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next = Math.min(count, from + size);
      const batch = encodeBatch(recordsOf(from, next), origin, lz4OrZstd, timeMs(next - 1));
      bytes += batch.length;
      const request = {
        timeoutMs: 30_000,
        topics: [{ topic, partitions: [{ partition, batch }] }],
      };
      for (const { error } of await cluster.produce(leader, request)) assert.equal(error, 'NONE');
    }
  };
  await Promise.all(Array.from({ length: requests }, writer));
  cluster.close();
  return bytes / 1e6;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

function userAt(index: number): string {
  return `019mr8${((index * 7_919) % 1_000_003).toString(36)}`;
}

function callOf({ timeMs, messageId, user: userId }: Made): BatchRecord {
  const time = new Date(timeMs).toISOString();
  const value = JSON.stringify({
    type: 'track',
    event: 'Order Completed',
    userId,
    messageId,
    anonymousId: randomUUID(),
    properties: { orderId: randomUUID(), total: 39.95, products: [{ sku: 'A-1', price: 19.9 }] },
    context: {
      library: { name: 'postrider-client', version: '0.1.0' },
      page: { path: '/checkout', url: 'https://shop.example.com/checkout' },
    },
    timestamp: time,
    receivedAt: time,
  });
  return { key: userId, value, headers: { 'write-key': 'wk' } };
}

function envelopeOf({ timeMs, messageId }: Made): Envelope {
  const ids = { destinationId: 'crm', sourceId: 'shop', messageId };
  return { ...ids, type: 'track', configOffset: 3, appendTimeMs: timeMs, attempts: 0 };
}

function copyOf(made: Made): BatchRecord {
  const { value = null } = callOf(made);
  const headers = { [envelopeHeader]: encodeEnvelope(envelopeOf(made)) };
  return { key: deliveryKey('crm', made.user), value, headers };
}

function lineOf(made: Made): string {
  const subject = {
    key: Buffer.from(deliveryKey('crm', made.user)),
    envelope: envelopeOf(made),
  };
  const url = 'https://e.test';
  return attemptLine(made.timeMs + 30, subject, url, deliveredWith(200), 12.3);
}
