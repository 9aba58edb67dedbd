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
) => FetchedBatch;

const anyPart = fc.record({
  firstOffset: fc.nat(20),
  isMarker: fc.array(fc.boolean(), { maxLength: 6 }),
  fetchedOffset: fc.nat(30),
  behind: fc.nat(10),
});

test('a batch answers as that of kafkajs does, but is handed over even if all of it is filtered', () => {
  fc.assert(
    fc.property(anyPart, ({ firstOffset, isMarker, fetchedOffset, behind }) => {
      const context = { producerId: '7', inTransaction: true };
      const messages = isMarker.map(
        (marker, i) => new FetchedRecord(firstOffset + 2 * i, 0, null, null, {}, context, marker),
      );
      const last = messages.at(-1)?.offsetNumber ?? fetchedOffset - 1;
      const part = { partition: 3, highWatermark: String(last + 1 + behind), messages };
      const abortedTransactions = [] as const;
      const expected = new KafkajsBatch('calls', String(fetchedOffset), {
        ...part,
        abortedTransactions,
      });
      const batch = new FetchedBatch('calls', String(fetchedOffset), part);
      assert.deepEqual(answers(batch), answers(expected));
      assert.equal(batch.isEmpty(), expected.isEmpty() && !expected.isEmptyDueToFiltering());
      assert.equal(batch.isEmptyDueToFiltering(), false);
    }),
  );
});

function answers(batch: FetchedBatch): object {
  const { topic, partition, fetchedOffset, highWatermark, messages } = batch;
  return {
    ...{ topic, partition, fetchedOffset, highWatermark, messages },
    firstOffset: batch.firstOffset(),
    lastOffset: batch.lastOffset(),
    offsetLag: batch.offsetLag(),
    offsetLagLow: batch.offsetLagLow(),
  };
}
