import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  fullBatch,
  halve,
  recordCount,
  splitByTopic,
  takeBatch,
  topicsOf,
  type Batch,
} from '../../../src/kafka/produce/batch.ts';
import { PartitionQueue } from '../../../src/kafka/produce/partition-queue.ts';
import { filledQueue, queued } from '../batches.ts';

const limitBytes = 900 * 1024;

const values = (batch: Batch): (Buffer | string | null)[] =>
  batch.flatMap(({ records }) => records.map(({ value }) => value));

const someBatch = fc
  .array(
    fc.record({
      topic: fc.constantFrom('a', 'b', 'c'),
      partition: fc.nat(3),
      records: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((queues) =>
    queues.map(({ topic, partition, records }) =>
      filledQueue(topic, partition, records).take(1_000, 1_000_000),
    ),
  );

test('a slice holds at most 900 KB, and a larger record goes alone', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1 }), (sizes) => {
      const queue = new PartitionQueue('t', 0);
      sizes.forEach((bytes, i) => {
        queue.push(queued(String(i), { bytes }));
      });
      const taken: (Buffer | string | null)[] = [];
      while (queue.length > 0) {
        const [slice] = takeBatch([queue]);
        assert.ok(slice !== undefined);
        assert.equal(
          slice.bytes,
          slice.records.reduce((sum, { bytes }) => sum + bytes, 0),
        );
        assert.ok(slice.bytes <= limitBytes || slice.records.length === 1);
        taken.push(...slice.records.map(({ value }) => value));
      }
      assert.deepEqual(
        taken,
        sizes.map((_, i) => String(i)),
      );
      assert.equal(queue.bytes, 0);
    }),
  );
});

test('a batch ends once it is full; the other queues keep their places', () => {
  const queues = Array.from({ length: 6 }, (_, i) => filledQueue('t', i, 400));
  const ready = [...queues];
  const batch = takeBatch(ready);
  assert.equal(recordCount(batch), 1_200);
  assert.ok(recordCount(batch) >= fullBatch.records);
  assert.deepEqual(ready, queues.slice(3));
});

test('what is taken is in flight until all of it is settled', () => {
  const queue = filledQueue('t', 0, 3);
  queue.take(2, 1_000);
  assert.equal(queue.isInFlight, true);
  queue.settle(1);
  assert.equal(queue.isInFlight, true);
  queue.settle(1);
  assert.equal(queue.isInFlight, false);
});

test('splitting by topic keeps every record and each topic’s order', () => {
  fc.assert(
    fc.property(someBatch, (batch) => {
      const parts = splitByTopic(batch);
      for (const part of parts) assert.equal(topicsOf(part).length, 1);
      for (const topic of topicsOf(batch)) {
        const ofTopic = (from: Batch): unknown =>
          values(from.filter(({ queue }) => queue.topic === topic));
        assert.deepEqual(ofTopic(parts.flat()), ofTopic(batch));
      }
    }),
  );
});

test('halves together are the whole, in order, and neither is empty', () => {
  fc.assert(
    fc.property(someBatch, (batch) => {
      fc.pre(recordCount(batch) > 1);
      const halves = halve(batch);
      assert.deepEqual(values(halves.flat()), values(batch));
      for (const half of halves) assert.ok(recordCount(half) > 0);
    }),
  );
});

test('a partition is divided only when it is alone', () => {
  fc.assert(
    fc.property(someBatch, (batch) => {
      fc.pre(batch.length > 1);
      const [first, second] = halve(batch);
      assert.deepEqual([...first, ...second], batch);
    }),
  );
});
