import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';

const place = { topic: 'calls', partition: 3, offset: 7, timestampMs: 1 };
const owner = { finish: () => undefined, release: () => undefined };

test('a detached record has the same contents, in memory that is its own and no larger', () => {
  const response = Buffer.alloc(1_000_000, 'key value header');
  const key = response.subarray(0, 3);
  const value = response.subarray(4, 9);
  const headers = { envelope: response.subarray(10, 16), empty: Buffer.alloc(0), none: undefined };
  const record = new TakenRecord({ ...place, key, value, headers }, owner, 0);

  record.detach();

  assert.equal(record.key?.toString(), 'key');
  assert.equal(record.value?.toString(), 'value');
  assert.deepEqual(Object.keys(record.headers), ['envelope', 'empty', 'none']);
  assert.equal(record.headers['envelope']?.toString(), 'header');
  assert.equal(record.headers['empty']?.length, 0);
  assert.equal(record.headers['none'], undefined);
  for (const field of [record.key, record.value, record.headers['envelope']])
    assert.equal(field.buffer.byteLength, 'key'.length + 'value'.length + 'header'.length);
});

test('without a key and a body, too', () => {
  const record = new TakenRecord({ ...place, key: null, value: null, headers: {} }, owner, 0);
  record.detach();
  assert.deepEqual([record.key, record.value, record.headers], [null, null, {}]);
});
