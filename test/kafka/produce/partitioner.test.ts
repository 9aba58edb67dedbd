import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { murmur2, partitionOf } from '../../../src/kafka/produce/partitioner.ts';

const require = createRequire(import.meta.url);
const kafkajsMurmur2 = require('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: Buffer,
) => number;

test('keys hash as in Kafka’s own Java tests', () => {
  // From org.apache.kafka.common.utils.UtilsTest#testMurmur2.
  const known = new Map([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ]);
  for (const [key, hash] of known) assert.equal(murmur2(Buffer.from(key)), hash, key);
});

test('any key goes where kafkajs, too, would send it', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 70 }),
      fc.integer({ min: 1, max: 200 }),
      (key, count) => {
        const bytes = Buffer.from(key);
        assert.equal(partitionOf(bytes, count), (kafkajsMurmur2(bytes) & 0x7fffffff) % count);
      },
    ),
  );
});

test('a string key goes where its UTF-8 bytes go', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (key) => {
      assert.equal(partitionOf(key, 12), partitionOf(Buffer.from(key), 12));
    }),
  );
});

test('records without a key spread over all partitions', () => {
  const seen = new Set(Array.from({ length: 1_000 }, () => partitionOf(null, 4)));
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3]);
});
