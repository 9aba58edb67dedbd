import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { startNotices, type NoticesDeps } from '../../src/notices/notices.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { loadTopology } from '../lab/bench/delivery-load.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';
import type { FakeCluster } from '../kafka/fake-cluster.ts';

test('a watch that is refused a topic leaves nothing open each time that it tries again', async () => {
  const topology = loadTopology('t.');
  const brokers = new FakeBrokers(1);
  for (const topic of [topology.topics.notices, topology.topics.destinationStatus])
    brokers.makeTopic(topic, 1);
  brokers.topicErrors.set(topology.topics.destinationStatus, 'TOPIC_AUTHORIZATION_FAILED');
  const clusters: FakeCluster[] = [];
  const kafka = {
    rack: '',
    openCluster: (): FakeCluster => {
      const cluster = brokers.openCluster();
      clusters.push(cluster);
      return cluster;
    },
  };
  const open = (): number => clusters.filter(({ isClosed }) => !isClosed).length;
  let tries = 0;
  const clock = {
    ...systemClock,
    after: (ms: number, callback: () => void) => {
      if (ms === 30_000) tries += 1;
      return systemClock.after(Math.min(ms, 100), callback);
    },
  };
  const deps = { kafka, topology, clock, log: silentLogger, metrics: new Registry() };
  const notices = startNotices({
    ...deps,
    producer: { send: () => Promise.resolve(), clockAheadMs: 0 },
  } as unknown as NoticesDeps);
  await eventually(() => {
    assert.ok(tries >= 1);
  });
  const first = open();
  await eventually(() => {
    assert.ok(tries >= 4);
  });
  assert.ok(open() <= first, `${open()} are open, ${first} were`);
  await notices.stop();
  assert.equal(open(), 0);
});
