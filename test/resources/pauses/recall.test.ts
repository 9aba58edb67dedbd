import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pauses } from '../../../src/resources/pauses/pauses.ts';
import { recallRecord, Recalls, type RecallEnds } from '../../../src/resources/pauses/recall.ts';

const [topic, partition] = ['retry.5m', 1];
const crm = { id: 'crm', uid: 'second' };
const ofCrm = { destinationId: 'crm', uid: 'second' };

function valueOf(ends: RecallEnds | undefined): Buffer | null {
  const { value } = recallRecord('pauses', crm, ends);
  return value === null ? null : Buffer.from(value);
}

function recalled(ends: RecallEnds): Recalls {
  const recalls = new Recalls();
  recalls.apply('crm', valueOf(ends), 1_000);
  return recalls;
}

test('what lies before the end of its partition is recalled, and what is written later is not', () => {
  const recalls = recalled({ 'retry.5m': [7, 40], 'retry.1h': [9] });
  const covers = (place: object): boolean =>
    recalls.covers(ofCrm, { topic, partition, offset: 0, ...place });
  assert.deepEqual(
    [39, 40].map((offset) => covers({ offset })),
    [true, false],
  );
  assert.ok(!covers({ partition: 0, offset: 7 }));
  assert.ok(!covers({ topic: 'retry.1h' }), 'a partition that was added later');
  assert.ok(!covers({ topic: 'retry.10s' }));
});

test('another destination, also an earlier one of the same id, is not recalled', () => {
  const recalls = recalled({ [topic]: [0, 40] });
  for (const waiting of [{ destinationId: 'ads', uid: 'second' }, { destinationId: 'crm' }])
    assert.ok(!recalls.covers(waiting, { topic, partition, offset: 0 }));
});

test('a later recall of the destination takes the place of the former, and can be removed', () => {
  const recalls = recalled({ [topic]: [0, 40] });
  recalls.apply('ads', valueOf({ [topic]: [3, 20] }), 2_000);
  assert.deepEqual(
    [0, 1, 2].map((each) => recalls.furthest({ topic, partition: each })),
    [3, 40, 0],
  );
  assert.deepEqual([recalls.writtenBefore(1_000), recalls.writtenBefore(1_001)], [[], ['crm']]);
  recalls.apply('crm', valueOf({ [topic]: [0, 50] }), 3_000);
  assert.ok(recalls.covers(ofCrm, { topic, partition, offset: 49 }));
  recalls.apply('crm', valueOf(undefined), 4_000);
  assert.equal(recalls.furthest({ topic, partition }), 20);
  assert.deepEqual([...recalls.ids()], ['ads']);
});

test('what is no recall recalls nothing', () => {
  const values = ['', '{', '{}', '[]', '{"ends":{"retry.5m":[-1]}}', '{"ends":{"retry.5m":["9"]}}'];
  for (const value of values) {
    const recalls = recalled({ [topic]: [0, 40] });
    recalls.apply('crm', Buffer.from(value), 2_000);
    assert.equal(recalls.size, 0, value);
  }
});

test('a recall is no pause, and no sign of a topic in which nothing was ever written', () => {
  const pauses = new Pauses();
  const { key } = recallRecord('pauses', crm, { [topic]: [1] });
  const about = pauses.apply({
    key: Buffer.from(String(key)),
    value: valueOf({ [topic]: [1] }),
    timestampMs: 1_000,
  });
  assert.deepEqual(about, { id: 'crm', isRecall: true });
  assert.deepEqual([pauses.has(crm), [...pauses.ids()], pauses.isEmpty], [false, [], false]);
});
