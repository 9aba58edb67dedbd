import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { DeliveryEngine } from '../../../src/delivery/engine.ts';
import { DeliveryEvents } from '../../../src/delivery/events.ts';
import { newClaim, type Claim } from '../../../src/delivery/job.ts';
import { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import { DeliveryMetrics } from '../../../src/delivery/metrics.ts';
import { deliveredWith, outcomeOfStatus } from '../../../src/delivery/outcome.ts';
import { StatusPublisher } from '../../../src/delivery/status/status-publisher.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import { quietSurroundings } from '../../delivery/real-engine.ts';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { systemClock, type SteadyClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import type { Topology } from '../../../src/topology.ts';
import { loadTopology } from './delivery-load.ts';
import { medianOf, summarize, type BenchResult } from './measure.ts';

const most = 0.01;
const destinations = 5_000;
const failing = 250;
/** Events a second: a few an hour for each that is well, and enough for the others to be seen to fail. */
const traffic = { well: 300, failing: 100 } as const;
const publishEveryMs = 50;
const warmUpSeconds = 75;
const samples = 6;
const sampleSeconds = 10;

export interface StatusBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

/**
 * What saying how 5,000 destinations are, of which 250 fail, costs a worker: CPU time in a second. What the
 * publisher does is measured in the thread, beside traffic; what its records cost the producer, without any.
 */
export async function benchStatus(options: StatusBenchOptions): Promise<BenchResult> {
  const { brokers, prefix, log = () => undefined } = options;
  const topology = loadTopology(prefix);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const { destinationStatus: topic } = topology.topics;
  await ensureTopics(
    kafka,
    topology.all.filter(({ name }) => name === topic),
  );
  const producer = await createProducer(kafka, { log: silentLogger });
  const written: OutgoingRecord[] = [];
  const counted: Pick<Producer, 'produce' | 'isFull'> = {
    isFull: false,
    produce: (record, done) => {
      written.push(record);
      producer.produce(record, done);
    },
  };
  const worker = new Worker(topology);
  const meter = new Meter();
  const publisher = new StatusPublisher({
    clock: meter,
    random: Math.random,
    producer: counted,
    topic,
    worker: 'bench',
    reports: worker.engine.reports,
    self: () => ({ ...worker.engine.state(), topics: {} }),
  });
  await worker.run(warmUpSeconds);
  const seen: { readonly usedUs: number; readonly records: readonly OutgoingRecord[] }[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    meter.usedUs = 0;
    written.length = 0;
    await worker.run(sampleSeconds);
    seen.push({ usedUs: meter.usedUs, records: [...written] });
  }
  const isFailing = [...worker.engine.reports.standings()].filter(
    ([, { state }]) => state === 'failing',
  );
  await publisher.close(10_000);
  worker.engine.stop();
  worker.engine.close();
  const perSecondUs: number[] = [];
  for (const { usedUs, records } of seen) {
    const producerUs = await cpuUsOf(producer, records);
    perSecondUs.push((usedUs + producerUs) / sampleSeconds);
    const [own, produced] = [usedUs, producerUs].map((us) => (us / sampleSeconds).toFixed(0));
    log(`${records.length / sampleSeconds} records/s: publisher ${own} µs/s, producer ${produced}`);
  }
  const records = seen.at(-1)?.records ?? [];
  await producer.close(10_000);
  const shares = perSecondUs.map((us) => us / 1_000_000);
  const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
  return {
    name: `status: of a core, to say how ${destinations} destinations are, of which ${isFailing.length} fail`,
    ...summarize(shares),
    required: `at most ${most}`,
    passed: medianOf(shares) <= most && isFailing.length >= 0.95 * failing,
    absolutes: {
      'share of a core': medianOf(shares).toFixed(4),
      'records a second': (records.length / sampleSeconds).toFixed(0),
      'bytes a record, before compression': (bytes / Math.max(1, records.length)).toFixed(0),
    },
  };
}

/** The system's clock; adds up the CPU time of what it calls back. */
class Meter implements SteadyClock {
  usedUs = 0;

  now(): number {
    return systemClock.now();
  }

  steadyNow(): number {
    return systemClock.steadyNow();
  }

  after(delayMs: number, callback: () => void): ReturnType<SteadyClock['after']> {
    return systemClock.after(delayMs, () => {
      const before = process.threadCpuUsage();
      callback();
      const { user, system } = process.threadCpuUsage(before);
      this.usedUs += user + system;
    });
  }
}

/** To write the records again, a second's worth of them at a time; without what the process does anyway. */
async function cpuUsOf(producer: Producer, records: readonly OutgoingRecord[]): Promise<number> {
  const share = Math.ceil(records.length / sampleSeconds);
  const startMs = performance.now();
  const usedUs = await cpuUsDuring(async () => {
    for (let start = 0; start < records.length; start += share)
      await producer.send(records.slice(start, start + share));
  });
  const tookMs = performance.now() - startMs;
  return Math.max(0, usedUs - (await cpuUsDuring(() => delay(tookMs))));
}

async function cpuUsDuring(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** A delivery engine whose endpoints and retry topics are in memory. */
class Worker {
  readonly engine: DeliveryEngine;
  readonly #topology: Topology;
  readonly #all = new Map<string, Destination>();
  readonly #claims = new Map<string, Claim>();
  #sequence = 0;

  constructor(topology: Topology) {
    this.#topology = topology;
    for (let index = 0; index < destinations; index += 1) {
      const id = `destination-${index}`;
      this.#all.set(id, {
        kind: 'Destination',
        id,
        name: id,
        sources: ['shop'],
        enabled: true,
        webhooks: [{ url: `https://${id}.example/hook`, headers: {} }],
        payload: 'standard',
        topic: 'shared',
      });
    }
    const answer = { body: Buffer.from('upstream timeout'), isCut: false, headers: {} };
    const failed = outcomeOfStatus(503, undefined, 0, answer);
    this.engine = new DeliveryEngine({
      clock: systemClock,
      random: Math.random,
      sender: {
        send: (sending, { url }, index) => {
          const isFailing = Number(/\d+/.exec(url)?.[0]) < failing;
          setTimeout(() => {
            sending.settled(isFailing ? failed : deliveredWith(200), index, 20);
          }, 20);
        },
        fetchToken: () => undefined,
        close: () => Promise.resolve(),
      },
      sink: {
        produce: (record, done) => {
          setImmediate(() => {
            done();
            this.#take(record);
          });
        },
      },
      events: new DeliveryEvents(silentLogger, new DeliveryMetrics(new Registry()), systemClock),
      ...quietSurroundings(topology, this.#all),
      fence: { covers: () => undefined, isFresh: () => true, size: 0 },
    });
  }

  async run(seconds: number): Promise<void> {
    const untilMs = performance.now() + seconds * 1_000;
    while (performance.now() < untilMs) {
      for (let n = 0; n < (traffic.well * publishEveryMs) / 1_000; n += 1)
        this.#publish(failing + Math.floor(Math.random() * (destinations - failing)));
      for (let n = 0; n < (traffic.failing * publishEveryMs) / 1_000; n += 1)
        this.#publish(Math.floor(Math.random() * failing));
      await delay(publishEveryMs);
    }
  }

  #publish(index: number): void {
    const destinationId = `destination-${index}`;
    const messageId = `m${++this.#sequence}`;
    const envelope = encodeEnvelope({
      destinationId,
      sourceId: 'shop',
      messageId,
      type: 'track',
      configOffset: 1,
      appendTimeMs: Date.now(),
      attempts: 0,
    });
    this.#take({
      topic: this.#topology.topics.delivery,
      key: deliveryKey(destinationId, messageId),
      value: '{"type":"track"}',
      headers: { [envelopeHeader]: envelope },
    });
  }

  #take({ topic, key, value, headers = {} }: OutgoingRecord): void {
    if (topic === this.#topology.topics.deadLetter) return;
    let claim = this.#claims.get(topic);
    if (claim === undefined) {
      claim = newClaim({ topic, partition: 0 }, false);
      this.#claims.set(topic, claim);
    }
    const nothing = { finish: () => undefined, release: () => undefined };
    const header = headers[envelopeHeader] ?? '';
    const record = {
      topic,
      partition: 0,
      offset: this.#sequence,
      timestampMs: Date.now(),
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: { [envelopeHeader]: Buffer.from(header) },
    };
    this.engine.take(claim, [new TakenRecord(record, nothing, 0)]);
  }
}
