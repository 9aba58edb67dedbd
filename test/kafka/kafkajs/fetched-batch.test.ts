import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { FetchedBatch, type BatchPart } from '../../../src/kafka/kafkajs/fetched-batch.ts';
import { FetchedRecord } from '../../../src/kafka/kafkajs/fetched-record.ts';

const require = createRequire(import.meta.url);
const KafkajsBatch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  part: BatchPart & { readonly abortedTransactions: readonly [] },
) => { readonly messages: readonly FetchedRecord[]; lastOffset(): string };

const anyPart = fc.record({
  firstOffset: fc.nat(20),
  isMarker: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  fetchedOffset: fc.nat(30),
  behind: fc.nat(10),
});

test('a batch holds the messages of that of kafkajs, and is read on behind the same offset', () => {
  fc.assert(
    fc.property(anyPart, ({ firstOffset, isMarker, fetchedOffset, behind }) => {
      const context = { producerId: '7', inTransaction: true };
      const messages = isMarker.map(
        (marker, i) => new FetchedRecord(firstOffset + 2 * i, 0, null, null, {}, context, marker),
      );
      const last = messages.at(-1)?.offsetNumber ?? NaN;
      const lastOffset = Math.max(last, fetchedOffset);
      const part = { partition: 3, highWatermark: String(last + 1 + behind), messages, lastOffset };
      const expected = new KafkajsBatch('calls', String(fetchedOffset), {
        ...part,
        abortedTransactions: [],
      });
      const resolved: object[] = [];
      const batch = new FetchedBatch('calls', fetchedOffset, part, {
        hasSeekOffset: () => false,
        resolveOffset: (offset) => resolved.push(offset),
      });
      batch.resolve();
      assert.deepEqual(batch.messages, expected.messages);
      assert.equal(batch.highWatermark, last + 1 + behind);
      const offset = expected.lastOffset();
      assert.deepEqual(resolved, [{ topic: 'calls', partition: 3, offset }]);
    }),
  );
});

test('a batch is stale while a seek of its partition is pending', () => {
  const part = { partition: 3, highWatermark: '0', messages: [], lastOffset: undefined };
  const batch = new FetchedBatch('calls', 0, part, {
    hasSeekOffset: ({ topic, partition }) => topic === 'calls' && partition === 3,
    resolveOffset: () => undefined,
  });
  assert.equal(batch.isStale(), true);
});
