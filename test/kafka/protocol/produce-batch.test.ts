import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from '../../harness/fast-check.ts';
import { encodeBatch, type BatchRecord } from '../../../src/kafka/protocol/batch-writer.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import { gzip } from '../../../src/kafka/protocol/compressor.ts';
import { initProducerIdExchange } from '../../../src/kafka/protocol/produce.ts';
import { readBatch } from '../produce/writable-cluster.ts';
import { uncompressed } from '../uncompressed.ts';

const origin = { producerId: 5_000_000_000, epoch: 3, sequence: 2 ** 31 - 2 };

test('a batch says who wrote it, and which numbers its records have', async () => {
  const records = [{ value: 'a' }, { value: 'b', headers: { name: 'x' } }, { key: 'k' }];
  const bytes = encodeBatch(records, origin, uncompressed, 1_763_787_772_123);
  const { producerId, epoch, firstSequence, values } = await readBatch(bytes);
  assert.deepEqual(
    [producerId, epoch, firstSequence, values],
    ['5000000000', 3, 2 ** 31 - 2, ['a', 'b', 'null']],
  );
  assert.equal(bytes.readBigInt64BE(27), 1_763_787_772_123n);
});

test('records are compressed as the compressor says', () => {
  const plain = encodeBatch([{ value: 'a' }], origin, uncompressed, 0);
  const packed = encodeBatch([{ value: 'a' }], origin, gzip, 0);
  assert.equal(packed.readInt16BE(21), 1);
  assert.deepEqual(gunzipSync(packed.subarray(61)), plain.subarray(61));
});

test('records that share an object of headers are written like those that have the same each', () => {
  const anyHeaders = fc.dictionary(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }));
  const turns = fc.array(fc.record({ which: fc.nat(2), value: fc.string({ maxLength: 300 }) }), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(fc.tuple(anyHeaders, anyHeaders, anyHeaders), turns, (headers, records) => {
      const shared = records.map(({ which, value }) => ({ value, headers: headers[which] ?? {} }));
      const own = shared.map((record) => ({ ...record, headers: { ...record.headers } }));
      const batches = [shared, own].map((each) => encodeBatch(each, origin, uncompressed, 0));
      assert.deepEqual(batches[0], batches[1]);
    }),
  );
});

test('a record whose encoding throws in the middle leaves nothing in front of the next batch', () => {
  const anyValue = fc.string({ unit: 'binary', maxLength: 300 });
  const broken: BatchRecord = {
    value: 'x',
    get headers(): never {
      throw new Error('no headers');
    },
  };
  fc.assert(
    fc.property(fc.array(anyValue, { maxLength: 5 }), anyValue, (before, value) => {
      const alone = encodeBatch([{ value }], origin, uncompressed, 0);
      const records = [...before.map((each) => ({ value: each })), broken];
      assert.throws(() => encodeBatch(records, origin, uncompressed, 0), /no headers/);
      assert.ok(encodeBatch([{ value }], origin, uncompressed, 0).equals(alone));
    }),
  );
});

const require = createRequire(import.meta.url);

test('a producer id is asked for with the bytes that kafkajs sends', async () => {
  const theirs = require('kafkajs/src/protocol/requests/initProducerId/v1/request') as (request: {
    transactionalId: string | null;
    transactionTimeout: number;
  }) => { encode(): Promise<{ buffer: Buffer }> };
  const request = theirs({ transactionalId: null, transactionTimeout: 60_000 });
  const { buffer } = await request.encode();
  assert.deepEqual(initProducerIdExchange().encode().buffer, buffer);
});

test('a producer id is read, and its refusal thrown', () => {
  const answer = (error: number): Buffer =>
    new ByteWriter(20).int32(100).int16(error).int64(5_000_000_000).int16(7).buffer;
  assert.deepEqual(initProducerIdExchange().decode(answer(0)), {
    throttleMs: 100,
    id: 5_000_000_000,
    epoch: 7,
  });
  assert.throws(() => initProducerIdExchange().decode(answer(31)), {
    type: 'CLUSTER_AUTHORIZATION_FAILED',
  });
});
