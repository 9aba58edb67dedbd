import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBatch } from '../../../src/kafka/protocol/batch-writer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { pauseRecord, resumedRecord } from '../../../src/resources/pauses/pause.ts';
import { followPauses, Pauses } from '../../../src/resources/pauses/pauses.ts';
import { recallRecord } from '../../../src/resources/pauses/recall.ts';
import { createTopology } from '../../../src/topology.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers } from '../../kafka/fake-brokers.ts';
import { uncompressed } from '../../kafka/uncompressed.ts';

const topology = createTopology({
  prefix: '',
  partitions: 1,
  replicationFactor: 1,
  retryTiersMs: [10_000],
  extraIngestTopics: [],
});
const topic = topology.topics.pauses;
const crm = { id: 'crm' };

test('a topic that was cut off resumes nothing while it is read again', async (t) => {
  const brokers = new FakeBrokers(3);
  brokers.makeTopic(topic, 1);
  const log = brokers.log(topic, 0);
  // Of the destination with the id `key`.
  for (let n = 0; n < 3; n += 1) log.append('{}');
  const pauses = await followPauses({ kafka: brokers, topology, log: silentLogger });
  t.after(() => pauses.stop());
  const changed: string[] = [];
  pauses.onChange((id) => changed.push(id));
  assert.ok(pauses.has({ id: 'key' }));
  let refused = 0;
  brokers.before = ({ api }) => {
    if (api !== 'ListOffsets') return;
    refused += 1;
    throw new Error('away');
  };
  log.cutOff(2, 1);
  await eventually(() => {
    assert.ok(refused > 4);
  });
  assert.ok(pauses.has({ id: 'key' }));
  brokers.before = () => undefined;
  await eventually(() => {
    assert.deepEqual(changed, ['key']);
  });
  assert.ok(pauses.has({ id: 'key' }));
});

test('a leader that nobody confirms does not say what is paused: it may have heard of no resume', async (t) => {
  const brokers = new FakeBrokers(3);
  for (const log of brokers.makeTopic(topic, 1)) log.inSync = [1, 2, 3];
  const log = brokers.log(topic, 0);
  log.append('{}');
  let asked = 0;
  brokers.before = ({ api, nodeId }) => {
    if (api !== 'Metadata' || nodeId < 0) return;
    asked += 1;
    if (asked === 1) throw new Error('no route');
    if (log.leader === 1) log.lead(2);
  };
  const pauses = await followPauses({ kafka: brokers, topology, log: silentLogger });
  t.after(() => pauses.stop());
  assert.equal(log.leader, 2);
  assert.equal(pauses.isFresh(), true);
});

test('of a pause that was over when this heard of it again, nothing is told but its end', async (t) => {
  const brokers = new FakeBrokers(3);
  brokers.makeTopic(topic, 1);
  const log = brokers.log(topic, 0);
  const pauses = await followPauses({ kafka: brokers, topology, log: silentLogger });
  t.after(() => pauses.stop());
  const told: (readonly [string, boolean])[] = [];
  pauses.onChange((id) => told.push([id, pauses.has({ id })]));
  let lost = 0;
  brokers.before = ({ api }) => {
    if (api !== 'Fetch') return;
    lost += 1;
    throw new Error('away');
  };
  brokers.changed();
  await eventually(() => {
    assert.ok(lost > 0);
  });
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 3_000);
  assert.equal(pauses.isFresh(), false);
  const since = '2026-01-02T03:04:05.000Z';
  const records = [
    pauseRecord(topic, crm, { since }),
    pauseRecord(topic, { id: 'shop' }, { since }),
    pauseRecord(topic, crm, undefined),
  ];
  const origin = { producerId: -1, epoch: -1, sequence: -1 };
  log.appendBatch(encodeBatch(records, origin, uncompressed, Date.now()));
  brokers.before = () => undefined;
  await eventually(() => {
    assert.deepEqual(told.toSorted(), [
      ['crm', false],
      ['shop', true],
    ]);
  });
});

test('what is recalled is told to whoever follows, and stays so when the topic is read again', async (t) => {
  const brokers = new FakeBrokers(3);
  brokers.makeTopic(topic, 1);
  const log = brokers.log(topic, 0);
  const pauses = await followPauses({ kafka: brokers, topology, log: silentLogger });
  t.after(() => pauses.stop());
  const [recalled, changed]: [string[], string[]] = [[], []];
  pauses.onRecall((id) => recalled.push(id));
  pauses.onChange((id) => changed.push(id));
  const { key, value } = recallRecord(topic, crm, { 'retry.10s': [7] });
  const headers = {};
  const record = { key: Buffer.from(String(key)), value: Buffer.from(String(value)), headers };
  const origin = { producerId: -1, epoch: -1, sequence: -1 };
  log.appendBatch(encodeBatch([record], origin, uncompressed, Date.now()));
  log.append('{}');
  const place = { topic: 'retry.10s', partition: 0, offset: 6 };
  await eventually(() => {
    assert.deepEqual([recalled, changed], [['crm'], ['key']]);
  });
  assert.ok(pauses.recalls.covers({ destinationId: 'crm' }, place));
  assert.equal(pauses.recalls.furthest(place), 7);
  log.cutOff(1, 1);
  await eventually(() => {
    assert.deepEqual(
      [recalled, changed],
      [
        ['crm', 'crm'],
        ['key', 'key'],
      ],
    );
  });
  assert.ok(pauses.recalls.covers({ destinationId: 'crm' }, place));
});

/** Takes a record as it is read that was appended then. */
function apply(
  pauses: Pauses,
  { key, value }: ReturnType<typeof pauseRecord>,
  timestampMs: number = 0,
): void {
  pauses.apply({
    key: Buffer.from(String(key)),
    value: value === null ? null : Buffer.from(value),
    timestampMs,
  });
}

test('a destination is resumed, and events of it may be left, as long as the records say so', () => {
  const pauses = new Pauses();
  const since = '2026-01-02T03:04:05.000Z';
  apply(pauses, pauseRecord(topic, crm, { since }));
  apply(pauses, resumedRecord(topic, crm, { since }));
  assert.deepEqual([pauses.has(crm), pauses.resumedSince(crm)], [true, since]);
  apply(pauses, pauseRecord(topic, crm, undefined));
  assert.deepEqual([pauses.has(crm), pauses.resumedSince(crm)], [false, since]);
  apply(pauses, resumedRecord(topic, crm, undefined));
  assert.equal(pauses.resumedSince(crm), undefined);
  assert.deepEqual([...pauses.ids()], []);
});

test('what a resume may find was kept since the pause, by the clock that says the earlier time', () => {
  const pauses = new Pauses();
  assert.equal(pauses.keptSinceMs([crm]), undefined);
  for (const appendedMs of [900, 1_000, 1_100]) {
    apply(pauses, pauseRecord(topic, crm, pauses.begin(crm, 1_000)), appendedMs);
    assert.equal(pauses.keptSinceMs([crm]), Math.min(appendedMs, 1_000));
    apply(pauses, pauseRecord(topic, crm, undefined), 1_200);
  }
  const both = [{ id: 'ads' }, crm];
  for (const each of both)
    apply(pauses, pauseRecord(topic, each, pauses.begin(each, 1_500)), 2_000);
  assert.equal(pauses.keptSinceMs(both), 1_500);
  assert.equal(pauses.keptSinceMs([...both, { id: 'web' }]), undefined);
  apply(pauses, pauseRecord(topic, crm, undefined), 1_200);
  assert.equal(pauses.keptSinceMs([crm]), undefined);
});

test('what a resume that was cut off has left is kept in the next pause too', () => {
  const pauses = new Pauses();
  const cutOff = (keptSince: string | undefined): void => {
    const since = new Date(2_000).toISOString();
    const resumed = keptSince === undefined ? { since } : { since, keptSince };
    apply(pauses, resumedRecord(topic, crm, resumed), 2_000);
    apply(pauses, pauseRecord(topic, crm, undefined), 2_000);
  };
  cutOff(new Date(1_000).toISOString());
  apply(pauses, pauseRecord(topic, crm, pauses.begin(crm, 3_000)), 3_000);
  assert.equal(pauses.keptSinceMs([crm]), 1_000);
  apply(pauses, resumedRecord(topic, crm, undefined), 3_000);
  assert.equal(pauses.keptSinceMs([crm]), 1_000);
  // As a former release has it, which did not say since when.
  cutOff(undefined);
  apply(pauses, pauseRecord(topic, crm, pauses.begin(crm, 4_000)), 4_000);
  apply(pauses, resumedRecord(topic, crm, undefined), 4_000);
  assert.deepEqual([pauses.has(crm), pauses.keptSinceMs([crm])], [true, undefined]);
});

test('a pause is in force for the destination that it is about, and not for another one of its id', () => {
  const pauses = new Pauses();
  const since = '2026-01-02T03:04:05.000Z';
  const [second, third] = [
    { id: 'crm', uid: 'second' },
    { id: 'crm', uid: 'third' },
  ];
  apply(pauses, pauseRecord(topic, second, { since, keptSince: since }));
  apply(pauses, resumedRecord(topic, second, { since }));
  assert.equal(pauses.get(second)?.since, since);
  for (const other of [crm, third]) {
    assert.deepEqual([pauses.has(other), pauses.resumedSince(other)], [false, undefined]);
    assert.equal(pauses.keptSinceMs([other]), undefined);
    assert.equal(pauses.begin(other, 9).keptSince, new Date(9).toISOString());
  }
  // Another version wrote it.
  pauses.apply({ key: Buffer.from('crm'), value: Buffer.from('{"uid":"third"}'), timestampMs: 0 });
  assert.deepEqual(
    [second, third].map((each) => pauses.has(each)),
    [false, true],
  );
});

test('what a former release wrote when a destination was deleted pauses nothing, and is known until it is removed', () => {
  const pauses = new Pauses();
  const ended = (value: string | null): void => {
    apply(pauses, { topic, key: 'ended:crm', value });
  };
  ended('{"since":"2026-01-02T03:04:05.000Z"}');
  assert.deepEqual([pauses.has(crm), [...pauses.ended]], [false, ['crm']]);
  ended(null);
  assert.deepEqual([...pauses.ended], []);
});
