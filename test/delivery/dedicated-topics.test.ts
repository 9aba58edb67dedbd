import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { DedicatedTopics } from '../../src/delivery/dedicated-topics.ts';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import type { ConsumeLoop } from '../../src/kafka/consume/consume-loop.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { createTopology } from '../../src/topology.ts';
import { FakeAdmin } from '../kafka/fake-admin.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { SimulatedClock } from './simulated-clock.ts';

interface Scene {
  readonly topics: DedicatedTopics;
  readonly config: HandMadeConfig;
  readonly read: readonly string[];
}

function scene(kafka: FakeAdmin, clock: SimulatedClock): Scene {
  const config = new HandMadeConfig();
  const read: string[] = [];
  const topics = new DedicatedTopics({
    kafka: kafka.client,
    topology: createTopology({
      prefix: '',
      partitions: 1,
      replicationFactor: 1,
      retryTiersMs: [60_000],
      extraIngestTopics: [],
    }),
    config,
    clock,
    events: new DeliveryEvents(silentLogger, new DeliveryMetrics(new Registry()), clock),
    read: (topic) => {
      read.push(topic);
      return { joined: true, stop: () => Promise.resolve() } as unknown as ConsumeLoop;
    },
    left: () => undefined,
  });
  return { topics, config, read };
}

test('a worker has not joined before it knows which dedicated topics there are', async () => {
  const kafka = new FakeAdmin();
  kafka.isHanging = true;
  const clock = new SimulatedClock();
  const { topics } = scene(kafka, clock);
  void topics.look();
  await clock.pass(5_000);
  assert.equal(topics.areJoined, false);
  kafka.answer();
  await clock.pass(5_000);
  assert.equal(topics.areJoined, true);
  await topics.stop(0);
});

test('topics of the cluster are listed every ten minutes, and without a dedicated one nothing else is asked', async () => {
  const kafka = new FakeAdmin();
  const clock = new SimulatedClock();
  const { topics, config, read } = scene(kafka, clock);
  await topics.look();
  config.put(destination('small', 'shared'));
  topics.changed('small');
  await clock.pass(590_000);
  assert.equal(kafka.timesListed, 1);
  assert.equal(kafka.brokers.asked.length, 0);
  await clock.pass(20_000);
  assert.equal(kafka.timesListed, 2);

  kafka.brokers.makeTopic('delivery.big', 1);
  config.put(destination('big', 'dedicated'));
  topics.changed('big');
  await clock.pass(5_000);
  assert.deepEqual(read, ['delivery.big']);
  assert.equal(kafka.timesListed, 2);
  await topics.stop(0);
});

test('a former topic that cannot be looked at keeps no other one from being read', async () => {
  const kafka = new FakeAdmin('delivery.former', 'delivery.used');
  const clock = new SimulatedClock();
  const { topics, config, read } = scene(kafka, clock);
  config.put(destination('former', 'shared'));
  config.put(destination('used', 'dedicated'));
  await topics.look();
  assert.deepEqual(read, ['delivery.former', 'delivery.used']);
  await topics.stop(0);
});

test('the topic of a deleted destination is removed when all of it is finished, and not on the word of a former leader', async () => {
  const topic = 'delivery.gone';
  const kafka = new FakeAdmin(topic);
  const [log] = kafka.brokers.makeTopic(topic, 1);
  log?.append(1, 2);
  log?.append(3);
  // A former leader does not know of the third.
  kafka.told = { end: 2, committed: 2 };
  const clock = new SimulatedClock();
  const { topics } = scene(kafka, clock);
  await topics.look();
  await clock.pass(600_000);
  await topics.look();
  assert.deepEqual(kafka.topics, [topic]);
  kafka.told = { end: 2, committed: 3 };
  await topics.look();
  assert.deepEqual(kafka.topics, []);
  await topics.stop(0);
});

function destination(id: string, topic: Destination['topic']): Destination {
  return {
    kind: 'Destination',
    id,
    name: id,
    sources: [],
    enabled: true,
    webhooks: [],
    payload: 'standard',
    topic,
  };
}

test('a worker that stops does not wait for a broker that hangs while it is asked for dedicated topics', async () => {
  const kafka = new FakeAdmin();
  const clock = new SimulatedClock();
  const { topics } = scene(kafka, clock);
  kafka.isHanging = true;
  void topics.look();
  const stopped = topics.stop(0);
  await clock.pass(5_000);
  await stopped;
});
