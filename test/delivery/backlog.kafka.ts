import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { openSender } from '../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../src/delivery/worker.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { ensureTopics, withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Role } from '../../src/ops/role.ts';
import { createTopology } from '../../src/topology.ts';
import { startEndpoints, type Body, type Endpoints } from '../lab/bench/stand-endpoints.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { noPauses } from './hand-made-pauses.ts';

const total = 20_000;
const destinations = ['a', 'b', 'c', 'd', 'e'];
const chunk = 2_000;
const topology = createTopology({
  prefix: testPrefix(),
  partitions: 4,
  replicationFactor: 1,
  retryTiersMs: [1_000, 60_000],
  extraIngestTopics: [],
});
const { delivery } = topology.topics;
const metrics = new Registry();
const arrived = new Set<number>();
let halfway: () => void = () => undefined;
let endpoints: Endpoints;
let kafka: KafkaClient;
let producer: Producer;
let worker: Role | undefined;

before(async () => {
  endpoints = await startEndpoints((n) => {
    arrived.add(n);
    if (arrived.size === total / 2) halfway();
  });
  const { brokers } = await testBroker();
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  producer = await createProducer(kafka, { log: silentLogger });
});

after(async () => {
  await worker?.stop(5_000);
  await producer.close(5_000);
  endpoints.close();
});

/** The sum over all labels. */
async function metric(name: string): Promise<number> {
  const { values } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] };
  return values.reduce((sum, { value }) => sum + value, 0);
}

test('a backlog for healthy endpoints is delivered from where it is: nothing is put off, and lag shows it', async () => {
  const config = new HandMadeConfig();
  for (const id of destinations)
    config.put({
      kind: 'Destination',
      id,
      name: id,
      sources: [],
      enabled: true,
      payload: 'standard',
      webhooks: [{ url: `http://127.0.0.1:${endpoints.port}/healthy`, headers: {} }],
      topic: 'shared',
    });
  const event = (n: number) => {
    const destinationId = destinations[n % destinations.length] ?? '';
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
      topic: delivery,
      key: deliveryKey(destinationId, `u${n % 997}`),
      value: JSON.stringify({ n } satisfies Body),
      headers: { [envelopeHeader]: envelope },
    };
  };
  for (let start = 0; start < total; start += chunk)
    await producer.send(Array.from({ length: chunk }, (_, index) => event(start + index)));

  const lagHalfway = new Promise<number>((resolve) => {
    halfway = () => {
      resolve(metric('postrider_delivery_lag_records'));
    };
  });
  worker = await startDelivery({
    fence: new HandMadeFence(),
    pauses: noPauses,
    kafka,
    topology,
    config,
    producer,
    clock: systemClock,
    log: silentLogger,
    metrics,
    sender: openSender({ clock: systemClock, timeoutMs: 5_000, allowNetworks: ['127.0.0.0/8'] }),
    deliveryTimeoutMs: 5_000,
    deletionDelayMs: 30_000,
    retryWindowMs: 14_400_000,
    maxAgeMs: 259_200_000,
    attempts: 'off',
    // Few, because the endpoint has this machine too: with many, a busy machine makes it a slow one.
    maxInFlight: 1_024,
    maxInFlightPerDestination: 4,
  });
  await eventually(() => {
    assert.equal(arrived.size, total);
  }, 120_000);
  assert.ok((await lagHalfway) > 0, 'no lag with half of it delivered');
  await eventually(async () => {
    assert.equal(await metric('postrider_delivered_total'), total);
    assert.equal(await metric('postrider_delivery_lag_records'), 0);
  });
  const deferrals = await metrics.getSingleMetric('postrider_deferrals_total')?.get();
  assert.deepEqual(
    deferrals?.values.filter(({ value }) => value > 0),
    [],
  );
  const retryTopics = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  const written = await withAdmin(kafka, (admin) =>
    Promise.all([...retryTopics, topology.topics.deadLetter].map((topic) => admin.offsets(topic))),
  );
  assert.deepEqual([...new Set(written.flat().map(({ end }) => end))], [0]);
});
