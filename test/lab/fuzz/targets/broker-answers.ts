import assert from 'node:assert/strict';
import { ByteWriter } from '../../../../src/kafka/protocol/fields.ts';
import { epochEndExchange, fetchExchange } from '../../../../src/kafka/protocol/fetch.ts';
import { KafkaAnswerError } from '../../../../src/kafka/protocol/errors.ts';
import {
  decodeProduceAnswer,
  initProducerIdExchange,
} from '../../../../src/kafka/protocol/produce.ts';
import { metadataExchange } from '../../../../src/kafka/protocol/metadata.ts';
import type { Target } from '../engine/target.ts';

const fetch = fetchExchange({ maxWaitMs: 1, maxBytes: 1, rack: '', topics: [] });
const metadata = metadataExchange([]);
const epochEnd = epochEndExchange({ topic: 't', partition: 0, leaderEpoch: 0, epoch: 0 });

const id = 'ab'.repeat(16);

/** The first byte chooses one. */
const decoders: readonly ((bytes: Buffer) => unknown)[] = [
  (bytes) => fetch.decode(bytes),
  (bytes) => metadata.decode(bytes),
  decodeProduceAnswer,
  (bytes) => epochEnd.decode(bytes),
  (bytes) => initProducerIdExchange().decode(bytes),
];

/** Each decoded thing stands for at least one byte of the answer. */
export const target: Target = {
  about:
    'answers of brokers to fetch, metadata, produce and epoch requests: RangeError or an error of Kafka, or no more than the bytes can say',
  seeds: [
    Buffer.concat([Buffer.from([0]), fetchAnswer()]),
    Buffer.concat([Buffer.from([1]), metadataAnswer()]),
    Buffer.concat([Buffer.from([2]), produceAnswer()]),
    Buffer.concat([Buffer.from([3]), epochEndAnswer()]),
    Buffer.concat([Buffer.from([4]), Buffer.alloc(16)]),
  ],
  check(input) {
    const [choice = 0] = input;
    const bytes = input.subarray(1);
    let answer: unknown;
    try {
      answer = decoders[choice % decoders.length]?.(bytes);
    } catch (error) {
      assert.ok(
        error instanceof KafkaAnswerError ||
          (error instanceof RangeError && error.message !== 'Maximum call stack size exceeded'),
        String(error),
      );
      return;
    }
    assert.ok(size(answer) <= 16 + bytes.length, 'as much as the bytes can say');
  },
};

/** Numbers, texts, and items of lists, also those that a list leaves out. */
function size(value: unknown): number {
  if (Buffer.isBuffer(value)) return value.length / 4;
  if (Array.isArray(value))
    return value.length + value.reduce((sum: number, each) => sum + size(each), 0) / 4;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + size(each), 0) / 4;
}

function fetchAnswer(): Buffer {
  const writer = new ByteWriter(64).noTags().int32(0).int16(0).int32(0);
  writer.compactArray([0], () => {
    writer.uuid(id).compactArray([0, 1], (partition) => {
      writer
        .int32(partition)
        .int16(partition === 0 ? 0 : 6)
        .int64(9)
        .int64(9)
        .int64(0);
      writer.compactArray([3], (producerId) => writer.int64(producerId).int64(2).noTags());
      writer.int32(-1).uvarint(4).bytes(Buffer.from('abc'));
      // The tag of an epoch that diverged.
      writer.uvarint(1).uvarint(0).uvarint(12).int32(4).int64(7);
    });
    writer.noTags();
  });
  return writer.noTags().buffer;
}

function metadataAnswer(): Buffer {
  const writer = new ByteWriter(64).noTags().int32(0);
  writer.compactArray([1, 2], (node) => {
    writer.int32(node).compactString(`kafka-${node}`).int32(9092).compactString(null).noTags();
  });
  writer.compactString('cluster').int32(1);
  writer.compactArray(['ingest'], (name) => {
    writer.int16(0).compactString(name).uuid(id).boolean(false);
    writer.compactArray([1, 0], (partition) => {
      writer.int16(0).int32(partition).int32(1).int32(5);
      for (let lists = 3; lists > 0; lists -= 1)
        writer.compactArray([1], (node) => writer.int32(node));
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}

function produceAnswer(): Buffer {
  const writer = new ByteWriter(64);
  writer.array(['ingest'], (topic) => {
    writer.string(topic).array([0, 1], (partition) => {
      writer
        .int32(partition)
        .int16(partition === 0 ? 0 : 87)
        .int64(9)
        .int64(-1)
        .int64(0);
      writer.array([0], (index) => writer.int32(index).string('too old'));
      writer.string(null);
    });
  });
  return writer.int32(0).buffer;
}

function epochEndAnswer(): Buffer {
  const writer = new ByteWriter(64).int32(0);
  writer.array(['ingest'], (topic) => {
    writer
      .string(topic)
      .array([0], (partition) => writer.int16(0).int32(partition).int32(4).int64(9));
  });
  return writer.buffer;
}
