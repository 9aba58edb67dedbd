import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test, type TestContext } from 'node:test';
import fc from '../../harness/fast-check.ts';
import originalKafkajs from 'kafkajs';
import { registerCodecs } from '../../../src/kafka/client.ts';
import { kafkajs, requireOwn } from '../../../src/kafka/kafkajs/library.ts';
import {
  encodeKafkajsRequest,
  type KafkajsProduceRequest,
  type KafkajsRecord,
  type LookUpCodec,
} from '../../../src/kafka/kafkajs/produce-request.ts';

const require = createRequire(import.meta.url);
const versions = 'src/protocol/requests/produce';
type RequestModule = (request: KafkajsProduceRequest) => {
  readonly encode: () => Promise<{ readonly buffer: Buffer }>;
};
const { lookupCodec } = requireOwn('src/protocol/message/compression') as {
  readonly lookupCodec: LookUpCodec;
};
const original = require(`kafkajs/${versions}/v3/request`) as RequestModule;

for (const each of [originalKafkajs, kafkajs]) registerCodecs(each);

/** Records without a time get the same one from both. */
function stopClock({ mock }: TestContext): void {
  mock.timers.enable({ apis: ['Date'], now: 1_763_787_772_123 });
}

const text = fc.string({ unit: 'binary', maxLength: 300 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const field = fc.oneof(text, bytes);
const long = fc.integer({ min: 0, max: 70_000 }).map((length) => Buffer.alloc(length, 'x'));
const anyRecord: fc.Arbitrary<KafkajsRecord> = fc.record(
  {
    key: fc.oneof(field, fc.constant(null)),
    value: fc.oneof(field, long, fc.constant(null)),
    headers: fc.dictionary(text, field, { maxKeys: 4 }),
  },
  { requiredKeys: [] },
);
const records = (maxLength: number): fc.Arbitrary<KafkajsRecord[]> =>
  fc.array(anyRecord, { minLength: 1, maxLength });
const none = 0;
const gzip = 1;
const lz4 = 3;
const zstd = 4;
const anyRequest: fc.Arbitrary<KafkajsProduceRequest> = fc.record({
  acks: fc.constant(-1),
  timeout: fc.nat(100_000),
  transactionalId: fc.oneof(fc.constant(null), fc.string({ unit: 'grapheme', minLength: 1 })),
  producerId: fc.oneof(fc.constant('-1'), fc.maxSafeNat().map(String)),
  producerEpoch: fc.nat(30_000),
  compression: fc.constantFrom(none, gzip, lz4, zstd),
  topicData: fc.array(
    fc.record({
      topic: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
      partitions: fc.array(
        fc.record({ partition: fc.nat(9_999), firstSequence: fc.nat(), messages: records(3) }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
});

async function assertSameBytes(request: KafkajsProduceRequest): Promise<void> {
  const expected = await original(request).encode();
  const encoded = await encodeKafkajsRequest(request, lookupCodec);
  assert.ok(encoded.buffer.equals(expected.buffer));
}

test('requests are encoded to the same bytes as by kafkajs', async (t) => {
  stopClock(t);
  await fc.assert(fc.asyncProperty(anyRequest, assertSameBytes), { numRuns: 300 });
});

test('batches of thousands of records, too', async (t) => {
  stopClock(t);
  const messages = Array.from({ length: 20_000 }, (_, n) => ({ key: `user-${n}`, value: 'x' }));
  const topicData = [{ topic: 'calls', partitions: [{ partition: 7, messages }] }];
  await assertSameBytes({ acks: -1, timeout: 1_000, compression: lz4, topicData });
});

test('requests that are compressed at the same time do not mix', async (t) => {
  stopClock(t);
  const request = (value: string): KafkajsProduceRequest => ({
    acks: -1,
    timeout: 1_000,
    compression: gzip,
    topicData: [{ topic: 'calls', partitions: [{ partition: 0, messages: [{ value }] }] }],
  });
  const both = [request('one'), request('another')];
  const encoded = await Promise.all(both.map((each) => encodeKafkajsRequest(each, lookupCodec)));
  const expected = await Promise.all(both.map((each) => original(each).encode()));
  for (const [index, { buffer }] of encoded.entries())
    assert.ok(expected[index]?.buffer.equals(buffer));
});

test('kafkajs uses it in all versions, but for what the pipeline never writes', async () => {
  const ours = requireOwn(`${versions}/v7/request`) as RequestModule;
  const request = (message: KafkajsRecord): KafkajsProduceRequest => ({
    acks: -1,
    timeout: 1_000,
    compression: lz4,
    topicData: [{ topic: 'calls', partitions: [{ partition: 0, messages: [message] }] }],
  });
  const memoryOf = async (message: KafkajsRecord): Promise<number> => {
    const { buffer } = await ours(request(message)).encode();
    return buffer.buffer.byteLength;
  };
  // Ours comes from the pool that buffers share, kafkajs's own is one of twice its size at most.
  assert.equal(await memoryOf({ value: 'a', headers: { h: 'x' } }), Buffer.poolSize);
  const theirs: KafkajsRecord[] = [
    { value: 'a', timestamp: '1763787772123' },
    { value: 'a', headers: { several: ['b', 'c'] } },
  ];
  for (const message of theirs) assert.notEqual(await memoryOf(message), Buffer.poolSize);
});
