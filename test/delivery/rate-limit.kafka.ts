import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { burstMs } from '../../src/delivery/lane/rate-limit.ts';
import { openSender } from '../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../src/delivery/worker.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { ensureTopics } from '../../src/kafka/admin.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Role } from '../../src/ops/role.ts';
import { createTopology } from '../../src/topology.ts';
import { startEndpoints, type Body, type Endpoints } from '../lab/bench/stand-endpoints.ts';
import { testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { testKafka } from '../kafka/topics.ts';
import { exampleDestination } from '../resources/examples.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { noPauses } from './hand-made-pauses.ts';

const perSecond = 100;
const total = 600;
const topology = createTopology({
  prefix: testPrefix(),
  partitions: 12,
  replicationFactor: 1,
  retryTiersMs: [500, 1_000],
  extraIngestTopics: [],
});
const config = new HandMadeConfig();
/** When an event came first, in the order in which they came. */
const arrivals = new Map<number, number>();
let endpoints: Endpoints;
let producer: Producer;
const workers: Worker[] = [];

interface Worker {
  readonly role: Role;
  /** The sum of a metric over all its labels. */
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** With a Kafka client of its own, like a process of its own. */
async function startWorker(): Promise<Worker> {
  const kafka = await testKafka();
  const own = await createProducer(kafka, { log: silentLogger });
  const metrics = new Registry();
  const role = await startDelivery({
    kafka,
    topology,
    config,
    producer: own,
    clock: systemClock,
    log: silentLogger,
    metrics,
    sender: openSender({ clock: systemClock, timeoutMs: 5_000, allowNetworks: ['127.0.0.0/8'] }),
    deliveryTimeoutMs: 5_000,
    deletionDelayMs: 30_000,
    retryWindowMs: 14_400_000,
    maxAgeMs: 259_200_000,
    attempts: 'off',
    fence: new HandMadeFence(),
    pauses: noPauses,
    maxInFlight: 1_024,
    maxInFlightPerDestination: 64,
  });
  return {
    role,
    metric: async (name) => {
      const { values } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] };
      return values.reduce((sum, { value }) => sum + value, 0);
    },
    stop: async () => {
      await role.stop(5_000);
      await own.close(5_000);
    },
  };
}

before(async () => {
  endpoints = await startEndpoints((n) => {
    if (!arrivals.has(n)) arrivals.set(n, Date.now());
  });
  const kafka = await testKafka();
  await ensureTopics(kafka, topology.all);
  producer = await createProducer(kafka, { log: silentLogger });
  const webhooks = [{ url: `http://127.0.0.1:${endpoints.port}/healthy` }];
  config.put(exampleDestination({ webhooks, rateLimit: `${perSecond}/s` }));
});

after(async () => {
  // One after the other, none in the middle of a rebalance, after which kafkajs can keep the process alive.
  for (let worker = workers.shift(); worker !== undefined; worker = workers.shift()) {
    await worker.stop();
    await eventually(() => {
      assert.ok(workers.every(({ role }) => role.ready()));
    });
  }
  await producer.close(5_000);
  endpoints.close();
});

/** Every other one of the same user, and every third in the partition of its key, as if there were no limit. */
function event(n: number, destinationId = 'crm', topic = topology.topics.delivery): OutgoingRecord {
  const envelope = encodeEnvelope({
    destinationId,
    sourceId: 'shop',
    messageId: `m${n}`,
    type: 'track',
    attempts: 0,
    configOffset: config.offset,
    appendTimeMs: Date.now(),
  });
  return {
    topic,
    partitionKey: n % 3 === 0 ? undefined : destinationId,
    key: deliveryKey(destinationId, n % 2 === 0 ? 'busy' : `u${n}`),
    value: JSON.stringify({ n } satisfies Body),
    headers: { [envelopeHeader]: envelope },
  };
}

test('a rate limit is kept by one of two workers, and by the other one when that stops', async () => {
  const first = await startWorker();
  const second = await startWorker();
  workers.push(first, second);
  await eventually(() => {
    assert.ok(workers.every(({ role }) => role.ready()));
  });
  const startMs = Date.now();
  await producer.send(Array.from({ length: total }, (_, n) => event(n)));
  await eventually(() => {
    assert.ok(arrivals.size > total / 3);
  }, 60_000);
  const firstIsHome = (await first.metric('postrider_delivered_total')) > 0;
  const [home, other] = firstIsHome ? [first, second] : [second, first];
  assert.equal(await other.metric('postrider_delivered_total'), 0);
  workers.splice(workers.indexOf(home), 1);
  await home.stop();
  await eventually(() => {
    assert.equal(arrivals.size, total);
  }, 120_000);
  assert.ok((await other.metric('postrider_delivered_total')) > total / 3);

  assertLimited([...arrivals.values()], startMs);
});

test('a dedicated topic has a home of its own, whatever else its partitions hold', async () => {
  const webhooks = [{ url: `http://127.0.0.1:${endpoints.port}/healthy` }];
  const rateLimit = `${perSecond}/s`;
  config.put(exampleDestination({ id: 'big', topic: 'dedicated', webhooks, rateLimit }));
  const { name } = topology.dedicatedTopic('big');
  await ensureTopics(await testKafka(), [topology.dedicatedTopic('big')]);
  arrivals.clear();
  const startMs = Date.now();
  await producer.send(Array.from({ length: total }, (_, n) => event(n, 'big', name)));
  await eventually(() => {
    assert.equal(arrivals.size, total);
  }, 120_000);
  assertLimited([...arrivals.values()], startMs);
});

/** An event that arrives late has been sent no later, so the bound holds from before the first one on. */
function assertLimited(arrivedMs: readonly number[], startMs: number): void {
  const allowance = (perSecond * burstMs) / 1_000 + 1;
  arrivedMs.forEach((atMs, index) => {
    const most = (perSecond * (atMs - startMs)) / 1_000 + allowance;
    assert.ok(index + 1 <= most, `${index + 1} events after ${atMs - startMs} ms`);
  });
}
