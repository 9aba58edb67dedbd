import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import original from 'kafkajs';
import { registerCodecs } from '../../../src/kafka/kafkajs/codecs.ts';
import type { FetchedHeaders, FetchedRecord } from '../../../src/kafka/kafkajs/fetched-record.ts';
import { kafkajs } from '../../../src/kafka/kafkajs/library.ts';
import { readRecordBatches } from '../../../src/kafka/kafkajs/record-reader.ts';

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const { RecordBatch } = require(`${protocol}/recordBatch/v0`) as {
  readonly RecordBatch: (options: object) => Promise<{ readonly buffer: Buffer }>;
};
const encodeRecord = require(`${protocol}/recordBatch/record/v0`) as (record: object) => object;
const KafkaDecoder = require(`${protocol}/decoder`) as new (bytes: Buffer) => object;
const decodeBatch = require(`${protocol}/recordBatch/v0/decoder`) as (
  decoder: object,
) => Promise<{ readonly records: readonly FetchedRecord[] }>;
for (const each of [original, kafkajs]) registerCodecs(each);

const bytes = fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each));
const number = fc.maxSafeNat();
/** Names of what every object has are left to a test of their own: kafkajs gets them wrong. */
const name = fc.string({ unit: 'grapheme', maxLength: 200 }).filter((each) => !(each in {}));

const anyRecord = fc.record({
  offsetDelta: fc.nat(0x7fffffff),
  timestampDelta: fc.integer({ min: -1_000_000_000, max: 2 ** 50 }),
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 }))),
});
const anyBatch = fc.record({
  firstOffset: fc.nat(2 ** 40),
  firstTimestamp: fc.nat(2 ** 50),
  maxTimestamp: number,
  producerId: fc.oneof(fc.constant(-1), number),
  transactional: fc.boolean(),
  compression: fc.constantFrom(0, 1, 2, 3, 4),
  isLogAppendTime: fc.boolean(),
  isControl: fc.boolean(),
  records: fc.array(anyRecord, { maxLength: 5 }),
});

test('records are read as by kafkajs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyBatch, { maxLength: 3 }), async (batches) => {
      const encoded = await Promise.all(batches.map(encode));
      const expected = [];
      for (const batch of encoded)
        expected.push(...(await decodeBatch(new KafkaDecoder(batch))).records);
      const { records, problem } = await readRecordBatches(Buffer.concat(encoded));
      assert.deepEqual(records.map(plain), expected.map(plain));
      assert.equal(problem, undefined);
    }),
  );
});

test('a batch that was cut off is left out', async () => {
  const records = [{ value: Buffer.from('x'), headers: {} }];
  const batch = await encode({ firstOffset: 0, records });
  for (const cut of [1, 40, batch.length - 1]) {
    const read = await readRecordBatches(Buffer.concat([batch, batch.subarray(0, cut)]));
    assert.deepEqual([read.records.length, read.lastOffset, read.problem], [1, 0, undefined]);
  }
});

test('a batch of which compaction has left nothing is read past', async () => {
  const batch = await encode({ firstOffset: 7, records: [] });
  const lastOffsetDeltaAt = 23;
  batch.writeInt32BE(4, lastOffsetDeltaAt);
  const { records, lastOffset } = await readRecordBatches(batch);
  assert.deepEqual([records, lastOffset], [[], 11]);
});

test('what comes before a batch that cannot be read is read, and the problem told', async () => {
  const records = [{ value: Buffer.from('x'), headers: {} }];
  const [good, bad] = [await encode({ firstOffset: 4, records }), await encode({ records })];
  const zstd = 4;
  const attributesAt = 21;
  bad.writeInt16BE(zstd, attributesAt);
  const read = await readRecordBatches(Buffer.concat([good, bad, good]));
  assert.deepEqual([read.records.length, read.lastOffset], [1, 4]);
  assert.ok(read.problem instanceof Error);
  assert.equal((await readRecordBatches(bad)).lastOffset, undefined);
});

test('many headers take time in proportion', async () => {
  const timeMs = async (count: number): Promise<number> => {
    const headers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`name${i}`, 'x']));
    const batch = await encode({ firstOffset: 0, records: [{ value: 'x', headers }] });
    const startMs = performance.now();
    const { records } = await readRecordBatches(batch);
    assert.equal(Object.keys(records[0]?.headers ?? {}).length, count);
    return performance.now() - startMs;
  };
  await timeMs(1_000);
  // Made anew for each header, they would take four hundred times as long.
  const [few, many] = [await timeMs(1_000), await timeMs(20_000)];
  assert.ok(many < 100 * few, `${many} ms for 20,000, ${few} ms for 1,000`);
});

test('a header may be named like what every object has', async () => {
  const headers: FetchedHeaders = {};
  for (const each of ['__proto__', 'constructor', 'toString'])
    Object.defineProperty(headers, each, { value: Buffer.from(each), enumerable: true });
  const records = [{ value: Buffer.from('x'), headers }];
  const read = await readRecordBatches(await encode({ firstOffset: 0, records }));
  assert.deepEqual(Object.entries(read.records[0]?.headers ?? {}), Object.entries(headers));
});

interface Batch {
  readonly isLogAppendTime?: boolean;
  readonly isControl?: boolean;
  readonly records: readonly object[];
  readonly [option: string]: unknown;
}

async function encode(batch: Batch): Promise<Buffer> {
  const { isLogAppendTime = false, isControl = false, records, ...options } = batch;
  const { buffer } = await RecordBatch({ ...options, records: records.map(encodeRecord) });
  // kafkajs never sets these.
  const attributes = buffer.readInt16BE(21);
  buffer.writeInt16BE(attributes | (isLogAppendTime ? 0x8 : 0) | (isControl ? 0x20 : 0), 21);
  return buffer;
}

function plain(record: FetchedRecord): object {
  const { offset, timestamp, key, value, headers, isControlRecord, batchContext } = record;
  const { producerId, inTransaction } = batchContext;
  const last = Object.entries(headers).map(([name, each]) => [name, lastOf(each)]);
  return { offset, timestamp, key, value, last, isControlRecord, producerId, inTransaction };
}

/** kafkajs makes a list of those that repeat, and null of one without a value. */
function lastOf(header: unknown): unknown {
  return (Array.isArray(header) ? header.at(-1) : header) ?? undefined;
}
