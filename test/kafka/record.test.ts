import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { recordBytes, type OutgoingRecord } from '../../src/kafka/record.ts';
import fc from '../harness/fast-check.ts';

const require = createRequire(import.meta.url);
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (record: object) => {
  size(): number;
};

const bytes = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
);
const record: fc.Arbitrary<OutgoingRecord> = fc.record({
  topic: fc.constant('t'),
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc.dictionary(fc.string({ maxLength: 20 }), bytes, { maxKeys: 5 }),
});

test('the size is never less than what kafkajs writes, and little more', () => {
  fc.assert(
    fc.property(record, (given) => {
      const written = encodeRecord({ ...given, offsetDelta: 99_999, timestampDelta: 99_999 });
      const size = recordBytes(given);
      assert.ok(size >= written.size());
      const headers = Object.keys(given.headers ?? {}).length;
      assert.ok(size - written.size() <= 30 + 10 * headers);
    }),
  );
});

for (const [name, part] of Object.entries({
  'a key that is a number': { key: 7 },
  'a value that is missing': { value: undefined },
  'a value that is an object': { value: {} },
  'a value that is a plain byte array': { value: new Uint8Array(3) },
  'a header that is null': { headers: { reason: null } },
})) {
  test(`${name} cannot be encoded and is refused at once`, () => {
    const given = { topic: 't', key: 'k', value: 'v', ...part } as unknown as OutgoingRecord;
    assert.throws(() => recordBytes(given), { code: 'record-refused' });
  });
}
