import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { statusKey } from '../../src/event/destination-status.ts';
import { encodeBatch } from '../../src/kafka/protocol/batch-writer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { startNotices, type NoticesDeps } from '../../src/notices/notices.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { loadTopology } from '../lab/bench/delivery-load.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';
import { uncompressed } from '../kafka/uncompressed.ts';

const hourMs = 3_600_000;

test('a destination that has just begun to fail is not paused because a clock is an hour ahead', async (t) => {
  const topology = loadTopology('t.');
  const { notices: noticesTopic, destinationStatus } = topology.topics;
  const brokers = new FakeBrokers(1);
  brokers.makeTopic(noticesTopic, 1);
  const [log] = brokers.makeTopic(destinationStatus, 1);
  const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const self = { kind: 'worker', worker: 'w', expiresAt: fromNow(10 * hourMs), isCutOff: false };
  const crm = {
    kind: 'destination',
    worker: 'w',
    destination: 'crm',
    state: 'failing',
    since: fromNow(-1_000),
    urls: [],
    waiting: { here: 1, tiers: {} },
    perMinute: { delivered: 0, failed: 1 },
  };
  const records = [
    { key: statusKey('w'), value: JSON.stringify(self) },
    { key: statusKey('w', 'crm'), value: JSON.stringify(crm) },
  ];
  const origin = { producerId: -1, epoch: -1, sequence: -1 };
  log?.appendBatch(encodeBatch(records, origin, uncompressed, Date.now()));
  const sent: OutgoingRecord[] = [];
  const producer = {
    clockAheadMs: hourMs,
    send: (written: readonly OutgoingRecord[]) => {
      sent.push(...written);
      return Promise.resolve();
    },
  };
  let looks = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + hourMs,
    after: (ms: number, callback: () => void) => {
      if (ms === 5_000) looks += 1;
      return systemClock.after(Math.min(ms, 100), callback);
    },
  };
  const notices = startNotices({
    kafka: brokers,
    topology,
    clock,
    log: silentLogger,
    metrics: new Registry(),
    producer,
    pauses: new Pauses(),
    config: {
      offset: 1,
      destination: () => ({ enabled: true, name: 'CRM' }),
      isUnreadable: () => false,
      uidOf: () => undefined,
      isFresh: () => true,
      noticeHooks: () => [],
    },
    disableAfterMs: hourMs / 2,
  } as unknown as NoticesDeps);
  t.after(() => notices.stop());
  await eventually(() => {
    assert.ok(looks >= 3);
  });
  assert.deepEqual(sent, []);
  // It would have been.
  producer.clockAheadMs = 0;
  await eventually(() => {
    assert.ok(sent.some(({ topic, key }) => topic === topology.topics.pauses && key === 'crm'));
  });
});
