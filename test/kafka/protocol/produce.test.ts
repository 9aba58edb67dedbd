import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { ByteReader, ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import {
  decodeProduceAnswer,
  encodeProduceRequest,
  type ProduceRequest,
} from '../../../src/kafka/protocol/produce.ts';

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const batch = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const anyRequest: fc.Arbitrary<ProduceRequest> = fc.record({
  transactionalId: fc.oneof(name, fc.constant(null)),
  timeoutMs: fc.nat(),
  topics: fc.array(
    fc.record({
      topic: name,
      partitions: fc.array(fc.record({ partition: fc.nat(), batch }), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
});

/** With prototypes, as what is read has them. */
const structuredTopics = ({ topics }: ProduceRequest): unknown =>
  topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((each) => ({ partition: each.partition, batch: each.batch })),
  }));

test('a request is written field by field, into a buffer of its size', () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      const { buffer, buf } = encodeProduceRequest(request);
      const reader = new ByteReader(buffer);
      assert.equal(reader.nullableString(), request.transactionalId);
      assert.equal(reader.int16(), -1);
      assert.equal(reader.int32(), request.timeoutMs);
      const topics = reader.array(() => ({
        topic: reader.string(),
        partitions: reader.array(() => {
          const partition = reader.int32();
          const length = reader.int32();
          reader.skip(length);
          return { partition, batch: buffer.subarray(reader.at - length, reader.at) };
        }),
      }));
      assert.deepEqual(topics, structuredTopics(request));
      assert.equal(reader.at, buffer.length);
      assert.ok(buf.length <= Math.max(buffer.length, 16));
    }),
  );
});

test('each partition has its own error, and what Kafka says of it', () => {
  const writer = new ByteWriter(200);
  const partitions = [
    {
      ...{ partition: 0, error: 0, offset: 5_000_000_000, appended: 1_767_225_600_000 },
      ...{ records: [], message: null },
    },
    { partition: 3, error: 19, offset: -1, appended: -1, records: [], message: 'too few' },
    { partition: 4, error: 87, offset: -1, appended: -1, records: [null, 'no key'], message: null },
    {
      partition: 5,
      error: 87,
      offset: -1,
      appended: -1,
      records: ['no key', 'no value'],
      message: null,
    },
    { partition: 6, error: 999, offset: -1, appended: -1, records: [], message: null },
  ];
  writer.array(['calls'], (topic) => {
    writer
      .string(topic)
      .array(partitions, ({ partition, error, offset, appended, records, message }) => {
        writer.int32(partition).int16(error).int64(offset).int64(appended).int64(0);
        writer.array(records, (record) => writer.int32(7).string(record)).string(message);
      });
  });
  writer.int32(250);
  assert.deepEqual(decodeProduceAnswer(writer.buffer), {
    throttleMs: 250,
    partitions: [
      {
        ...{ error: 'NONE', partition: 0, message: null },
        ...{ baseOffset: 5_000_000_000, appendedMs: 1_767_225_600_000 },
      },
      { error: 'NOT_ENOUGH_REPLICAS', baseOffset: -1, partition: 3, message: 'too few' },
      { error: 'INVALID_RECORD', baseOffset: -1, partition: 4, message: 'no key' },
      { error: 'INVALID_RECORD', baseOffset: -1, partition: 5, message: 'no key' },
      { error: 'ERROR_999', baseOffset: -1, partition: 6, message: null },
    ].map((partition) => ({ topic: 'calls', appendedMs: undefined, ...partition })),
  });
});

test('an answer that is cut off is none', () => {
  const { buffer } = new ByteWriter(16).int32(1).string('calls').int32(1).int32(0);
  assert.throws(() => decodeProduceAnswer(buffer), RangeError);
});
