import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { crc32c } from '../../../src/kafka/protocol/crc32c.ts';

const require = createRequire(import.meta.url);
const theirs = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Uint8Array) => number;

test('the examples of RFC 3720 have the checksums that it says', () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  const sums = [
    new Uint8Array(32),
    new Uint8Array(32).fill(0xff),
    ascending,
    ascending.toReversed(),
    Buffer.from('123456789'),
    new Uint8Array(),
  ].map(crc32c);
  assert.deepEqual(sums, [0x8a9136aa, 0x62a8ab43, 0x46dd794e, 0x113fdb5c, 0xe3069283, 0]);
});

test('bytes of any length, from any place of their memory, have the checksum that kafkajs computes', () => {
  const anyBytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(anyBytes, fc.nat(8), fc.nat(8), (bytes, before, behind) => {
      const slice = bytes.subarray(before, Math.max(before, bytes.length - behind));
      assert.equal(crc32c(slice), theirs(slice));
    }),
  );
});
