import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../src/ops/log.ts';
import { pauseRecord, resumedRecord } from '../../../src/resources/pauses/pause.ts';
import { followPauses, Pauses } from '../../../src/resources/pauses/pauses.ts';
import { createTopology } from '../../../src/topology.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers } from '../../kafka/fake-brokers.ts';

const topology = createTopology({
  prefix: '',
  partitions: 1,
  replicationFactor: 1,
  retryTiersMs: [10_000],
  extraIngestTopics: [],
});
const topic = topology.topics.pauses;

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
  assert.ok(pauses.has('key'));
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
  assert.ok(pauses.has('key'));
  brokers.before = () => undefined;
  await eventually(() => {
    assert.deepEqual(changed, ['key']);
  });
  assert.ok(pauses.has('key'));
});

test('a destination is resumed, and events of it may be left, as long as the records say so', () => {
  const pauses = new Pauses();
  const apply = ({ key, value }: ReturnType<typeof pauseRecord>): void => {
    pauses.apply({
      key: Buffer.from(String(key)),
      value: value === null ? null : Buffer.from(value),
      timestampMs: 0,
    });
  };
  const since = '2026-01-02T03:04:05.000Z';
  apply(pauseRecord(topic, 'crm', { since }));
  apply(resumedRecord(topic, 'crm', since));
  assert.deepEqual([pauses.has('crm'), pauses.resumedSince('crm')], [true, since]);
  apply(pauseRecord(topic, 'crm', undefined));
  assert.deepEqual([pauses.has('crm'), pauses.resumedSince('crm')], [false, since]);
  apply(resumedRecord(topic, 'crm', undefined));
  assert.equal(pauses.resumedSince('crm'), undefined);
  assert.deepEqual([...pauses.ids()], []);
});
