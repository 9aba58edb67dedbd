import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { DedicatedTopics } from '../../src/delivery/dedicated-topics.ts';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopology } from '../../src/topology.ts';
import { FakeAdmin } from '../kafka/fake-admin.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** No topic is read by it, because there is none. */
function dedicatedTopics(kafka: FakeAdmin, clock: SimulatedClock): DedicatedTopics {
  return new DedicatedTopics({
    kafka: kafka.client,
    topology: createTopology({
      prefix: '',
      partitions: 1,
      replicationFactor: 1,
      retryTiersMs: [60_000],
      extraIngestTopics: [],
    }),
    config: new HandMadeConfig(),
    clock,
    events: new DeliveryEvents(silentLogger, new DeliveryMetrics(new Registry()), clock),
    read: () => assert.fail('there is no topic to read'),
    left: () => undefined,
  });
}

test('a worker has not joined before it knows which dedicated topics there are', async () => {
  const kafka = new FakeAdmin();
  kafka.isHanging = true;
  const clock = new SimulatedClock();
  const topics = dedicatedTopics(kafka, clock);
  void topics.look();
  await clock.pass(5_000);
  assert.equal(topics.areJoined, false);
  kafka.answer();
  await clock.pass(5_000);
  assert.equal(topics.areJoined, true);
  await topics.stop(0);
});

test('a worker that stops does not wait for a broker that hangs while it is asked for dedicated topics', async () => {
  const kafka = new FakeAdmin();
  const clock = new SimulatedClock();
  const topics = dedicatedTopics(kafka, clock);
  await topics.look();
  kafka.isHanging = true;
  void topics.look();
  const stopped = topics.stop(0);
  await clock.pass(5_000);
  await stopped;
});
