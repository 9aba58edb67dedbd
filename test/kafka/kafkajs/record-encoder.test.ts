import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cheapEncoder,
  encodeRecordsCheaply,
  type BatchRecord,
  type RecordEncoder,
} from '../../../src/kafka/kafkajs/record-encoder.ts';

const require = createRequire(import.meta.url);
const modulePath = 'kafkajs/src/protocol/recordBatch/record/v0';
const original = require(modulePath) as RecordEncoder;

const text = fc.string({ unit: 'binary', maxLength: 300 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const field = fc.oneof(text, bytes);
const long = fc.integer({ min: 0, max: 70_000 }).map((length) => Buffer.alloc(length, 'x'));
const anyRecord: fc.Arbitrary<BatchRecord> = fc.record(
  {
    offsetDelta: fc.oneof(fc.nat(300), fc.nat(100_000)),
    key: fc.oneof(field, fc.constant(null)),
    value: fc.oneof(field, long, fc.constant(null)),
    headers: fc.dictionary(text, field, { maxKeys: 4 }),
  },
  { requiredKeys: [] },
);

test('records are encoded to the same bytes as by kafkajs', () => {
  const cheap = cheapEncoder(() => assert.fail('fell back'));
  fc.assert(
    fc.property(anyRecord, (record) => {
      const expected = original(record);
      const encoded = cheap(record);
      assert.ok(expected.buffer.equals(encoded.buffer));
      assert.equal(encoded.size(), expected.size());
    }),
    { numRuns: 500 },
  );
});

test('what the pipeline never writes is left to kafkajs', () => {
  const seen: BatchRecord[] = [];
  const cheap = cheapEncoder((record) => {
    seen.push(record);
    return original(record);
  });
  const records: BatchRecord[] = [
    { timestampDelta: 7, value: 'a' },
    { value: 'a', headers: { several: ['b', 'c'] } },
  ];
  for (const record of records) cheap(record);
  assert.deepEqual(seen, records);
});

test('it is what kafkajs uses for its produce requests', () => {
  encodeRecordsCheaply();
  const patched = require(modulePath) as RecordEncoder;
  assert.notEqual(patched, original);
  const record: BatchRecord = { key: 'k', value: Buffer.from('v'), headers: { h: 'x' } };
  // kafkajs's own leaves room for more at the end of its buffer.
  assert.equal(patched(record).buf.length, original(record).buffer.length);
});
