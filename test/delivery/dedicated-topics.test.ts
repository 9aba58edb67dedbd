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

test('a worker that stops does not wait for a broker that hangs while it is asked for dedicated topics', async () => {
  const kafka = new FakeAdmin();
  const clock = new SimulatedClock();
  const topics = new DedicatedTopics({
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
    read: () => Promise.reject(new Error('there is no topic to read')),
    left: () => undefined,
  });
  await topics.start();
  kafka.isHanging = true;
  void topics.look();
  const stopped = topics.stop(0);
  await clock.pass(5_000);
  await stopped;
});
