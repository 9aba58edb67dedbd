import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { openSender } from '../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../src/delivery/worker.ts';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { ensureTopics } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Role } from '../../src/ops/role.ts';
import { createTopology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { noPauses } from './hand-made-pauses.ts';

const partitions = 2;
const eventsEach = 5;
const arrivals: string[] = [];
const topology = createTopology({
  prefix: testPrefix(),
  partitions,
  replicationFactor: 1,
  retryTiersMs: [1_000],
  extraIngestTopics: [],
});
let receiver: Receiver;
let producer: Producer;

/** Events of a configuration that it has not seen wait, however long that takes. */
class PatientConfig extends HandMadeConfig {
  override isFresh(): boolean {
    return false;
  }
}

async function startWorker(config: HandMadeConfig, metrics: Registry): Promise<Role> {
  const { brokers } = await testBroker();
  const role = await startDelivery({
    fence: new HandMadeFence(),
    pauses: noPauses,
    kafka: createKafka({ brokers, clientId: 'test' }, silentLogger),
    topology,
    config,
    producer,
    clock: systemClock,
    log: silentLogger,
    metrics,
    sender: openSender({ clock: systemClock, timeoutMs: 1_000, allowNetworks: ['127.0.0.0/8'] }),
    deliveryTimeoutMs: 1_000,
    deletionDelayMs: 30_000,
    retryWindowMs: 60_000,
    maxAgeMs: 3_600_000,
    attempts: 'off',
    maxInFlight: 64,
    maxInFlightPerDestination: 16,
  });
  await eventually(() => {
    assert.ok(role.ready());
  });
  return role;
}

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ body }) => {
      arrivals.push(body.toString());
      return { status: 200 };
    },
  });
  const { brokers } = await testBroker();
  const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  await ensureTopics(kafka, topology.all);
  producer = await createProducer(kafka, { log: silentLogger });
});

after(async () => {
  await producer.close(5_000);
  await receiver.close();
});

test('a partition that goes to another worker and comes back brings nothing again, although its first record still waits', async () => {
  const known = new PatientConfig();
  known.put({
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: [],
    enabled: true,
    webhooks: [{ url: receiver.url, headers: {} }],
    payload: 'standard',
    topic: 'shared',
  });
  const event = (partition: number, body: string, configOffset: number, destinationId = 'crm') => ({
    topic: topology.topics.delivery,
    partition,
    value: body,
    key: deliveryKey(destinationId, body),
    headers: {
      [envelopeHeader]: encodeEnvelope({
        destinationId,
        sourceId: 'shop',
        messageId: body,
        type: 'track',
        configOffset,
        appendTimeMs: Date.now(),
        attempts: 0,
      }),
    },
  });
  for (let partition = 0; partition < partitions; partition += 1) {
    // The first is of a destination that is not known yet and waits for it, so that the others are delivered
    // and not committed.
    const bodies = Array.from({ length: eventsEach }, (_, i) => `${partition}-${i}`);
    await producer.send([
      event(partition, `${partition}-waits`, known.offset + 1, 'unknown'),
      ...bodies.map((body) => event(partition, body, known.offset)),
    ]);
  }
  const metrics = new Registry();
  const redelivered = async (): Promise<number | undefined> =>
    (await metrics.getSingleMetric('postrider_redelivered_total')?.get())?.values[0]?.value;
  const worker = await startWorker(known, metrics);
  await eventually(() => {
    assert.equal(arrivals.length, partitions * eventsEach);
  });
  assert.equal(await redelivered(), 0);

  // It takes a partition over and delivers nothing, because it knows no configuration at all.
  const ignorant = new PatientConfig();
  ignorant.offset = 0;
  const other = await startWorker(ignorant, new Registry());
  await eventually(() => {
    assert.ok(worker.ready());
  });
  await other.stop(0);
  const more = 'after the partition is back';
  await producer.send([0, 1].map((partition) => event(partition, `${partition} ${more}`, 0)));
  await eventually(() => {
    assert.equal(arrivals.filter((body) => body.endsWith(more)).length, partitions);
  });
  assert.equal(arrivals.length, partitions * (eventsEach + 1));
  assert.equal(await redelivered(), 0);
  await worker.stop(0);
});
