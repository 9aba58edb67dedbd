import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { fetchCheaply } from '../../../src/kafka/kafkajs/fetch-protocol.ts';
import { encodeFetchRequest, type FetchRequest } from '../../../src/kafka/kafkajs/fetch-request.ts';
import {
  decodeFetchResponse,
  type FetchResponse,
} from '../../../src/kafka/kafkajs/fetch-response.ts';
import { requireOwn } from '../../../src/kafka/kafkajs/own-copy.ts';

interface Encoder {
  readonly buffer: Buffer;
  writeInt16(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: string | number): this;
  writeString(value: string): this;
  writeBuffer(value: Buffer): this;
}

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const KafkaEncoder = require(`${protocol}/encoder`) as new () => Encoder;
const original = {
  request: require(`${protocol}/requests/fetch/v11/request`) as (
    request: FetchRequest & { readonly replicaId: number },
  ) => {
    encode(): Promise<{ readonly buffer: Buffer }>;
  },
  decode: (
    require(`${protocol}/requests/fetch/v11/response`) as {
      readonly decode: (bytes: Buffer) => Promise<FetchResponse>;
    }
  ).decode,
};
const recordBatch = require(`${protocol}/recordBatch/v0`) as {
  RecordBatch(options: object): Promise<{ readonly buffer: Buffer }>;
};

const id = fc.nat(0x7fffffff);
const offset = fc.maxSafeNat().map(String);
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });

const anyRequest: fc.Arbitrary<FetchRequest> = fc.record({
  maxWaitTime: id,
  minBytes: id,
  maxBytes: id,
  isolationLevel: fc.constantFrom(0, 1),
  topics: fc.array(
    fc.record({
      topic: name,
      partitions: fc.array(fc.record({ partition: id, fetchOffset: offset, maxBytes: id })),
    }),
  ),
  rackId: name,
});

test('requests are encoded to the same bytes as by kafkajs', async () => {
  await fc.assert(
    fc.asyncProperty(anyRequest, async (request) => {
      const expected = await original.request({ ...request, replicaId: -1 }).encode();
      const encoded = encodeFetchRequest(request) as unknown as { readonly buffer: Buffer };
      assert.ok(encoded.buffer.equals(expected.buffer));
    }),
  );
});

interface AnyPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly offsets: readonly [string, string, string];
  readonly aborted: readonly (readonly [string, string])[] | null;
  readonly replica: number;
  readonly values: readonly string[];
}

const anyPartition: fc.Arbitrary<AnyPartition> = fc.record({
  partition: id,
  errorCode: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 90 })),
  offsets: fc.tuple(offset, offset, offset),
  aborted: fc.oneof(fc.constant(null), fc.array(fc.tuple(offset, offset), { maxLength: 3 })),
  replica: fc.oneof({ weight: 4, arbitrary: fc.constant(-1) }, fc.nat(9)),
  values: fc.oneof(fc.constant([]), fc.array(fc.string(), { maxLength: 3 })),
});
const anyAnswer = fc.array(
  fc.record({ topic: name, partitions: fc.array(anyPartition, { maxLength: 5 }) }),
  { maxLength: 4 },
);

test('of an answer, all partitions are decoded that bring something: as by kafkajs', async () => {
  await fc.assert(
    fc.asyncProperty(anyAnswer, async (topics) => {
      const bytes = await encodeAnswer(topics);
      const expected = withoutEmpty(await original.decode(bytes));
      assert.deepEqual(plain(await decodeFetchResponse(bytes)), plain(expected));
    }),
  );
});

test('of an answer that brings many records, the first of every partition are decoded, in whole batches', async () => {
  const recordsPerBatch = 100;
  const values = (batches: number): string[] => Array<string>(batches * recordsPerBatch).fill('x');
  const answer = [
    { topic: 'a', partitions: [filled(0, values(80)), filled(1, [])] },
    { topic: 'b', partitions: [filled(0, values(1)), filled(1, values(40))] },
  ];
  const { responses } = await decodeFetchResponse(await encodeAnswer(answer, recordsPerBatch));
  const found = responses.flatMap(({ topicName, partitions }) =>
    partitions.map(({ partition, messages }) => [topicName, partition, messages.length]),
  );
  const share = Math.ceil(2_048 / 3 / recordsPerBatch) * recordsPerBatch;
  assert.deepEqual(found, [
    ['a', 0, share],
    ['b', 0, recordsPerBatch],
    ['b', 1, share],
  ]);
});

function filled(partition: number, values: readonly string[]): AnyPartition {
  const offsets = ['0', '0', '0'] as const;
  return { partition, errorCode: 0, offsets, aborted: null, replica: -1, values };
}

test('it is what kafkajs uses for its fetches, as it would exchange them', () => {
  const definition = requireOwn('src/protocol/requests/fetch') as {
    protocol(of: { version: number }): (request: FetchRequest) => {
      readonly request: object;
      readonly response: { readonly decode: unknown };
      readonly requestTimeout: number;
    };
  };
  const request = { maxWaitTime: 7, minBytes: 1, maxBytes: 2, isolationLevel: 1 };
  const exchange = (version: number): ReturnType<ReturnType<typeof definition.protocol>> =>
    definition.protocol({ version })({ ...request, topics: [], rackId: '' });
  const [older, theirs] = [exchange(10), exchange(11)];
  fetchCheaply();
  const ours = exchange(11);
  assert.equal(ours.response.decode, decodeFetchResponse);
  const described = ({ request: sent, response, requestTimeout }: typeof ours): string =>
    JSON.stringify([sent, Object.keys(response), requestTimeout]);
  assert.equal(described(ours), described(theirs));
  assert.equal(described(exchange(10)), described(older));
});

async function encodeAnswer(
  topics: readonly { readonly topic: string; readonly partitions: readonly AnyPartition[] }[],
  recordsPerBatch = Infinity,
): Promise<Buffer> {
  const encoder = new KafkaEncoder().writeInt32(0).writeInt16(0).writeInt32(0);
  encoder.writeInt32(topics.length);
  for (const { topic, partitions } of topics) {
    encoder.writeString(topic).writeInt32(partitions.length);
    for (const each of partitions) {
      encoder.writeInt32(each.partition).writeInt16(each.errorCode);
      for (const value of each.offsets) encoder.writeInt64(value);
      encoder.writeInt32(each.aborted?.length ?? -1);
      for (const [producer, first] of each.aborted ?? [])
        encoder.writeInt64(producer).writeInt64(first);
      encoder.writeInt32(each.replica);
      const records = await encodeRecords(each.values, recordsPerBatch);
      encoder.writeInt32(records.length).writeBuffer(records);
    }
  }
  return encoder.buffer;
}

async function encodeRecords(values: readonly string[], perBatch: number): Promise<Buffer> {
  if (values.length === 0) return Buffer.alloc(0);
  if (values.length > perBatch) {
    const first = await encodeRecords(values.slice(0, perBatch), perBatch);
    return Buffer.concat([first, await encodeRecords(values.slice(perBatch), perBatch)]);
  }
  const encodeRecord = require(`${protocol}/recordBatch/record/v0`) as (record: object) => object;
  const records = values.map((value, offsetDelta) => encodeRecord({ offsetDelta, value }));
  return (await recordBatch.RecordBatch({ records })).buffer;
}

/** What is asked of a record, however it is kept. */
function plain({ responses, ...response }: FetchResponse): object {
  const topics = responses.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map((partition) => ({
      ...partition,
      lastOffset: undefined,
      problem: undefined,
      messages: partition.messages.map(({ offset, value }) => ({ offset, value })),
    })),
  }));
  return { ...response, topics };
}

function withoutEmpty(response: FetchResponse): FetchResponse {
  const responses = response.responses
    .map(({ topicName, partitions }) => ({
      topicName,
      partitions: partitions
        .filter(
          ({ errorCode, preferredReadReplica, messages }) =>
            errorCode !== 0 || preferredReadReplica !== -1 || messages.length > 0,
        )
        // They have been taken into account.
        .map((partition) => ({ ...partition, abortedTransactions: [] })),
    }))
    .filter(({ partitions }) => partitions.length > 0);
  return { ...response, responses };
}
