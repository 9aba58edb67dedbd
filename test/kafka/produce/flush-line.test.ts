import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { FlushLine, FlushPace } from '../../../src/kafka/produce/flush-line.ts';
import {
  PartitionQueue,
  type QueuedRecord,
  type Slice,
} from '../../../src/kafka/produce/partition-queue.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';

const limitBytes = 900 * 1024;

function queued(value: string, bytes: number = 100): QueuedRecord {
  return {
    key: null,
    value,
    headers: {},
    partition: 0,
    partitionKey: null,
    bytes,
    addedMs: 0,
    mayWait: false,
    elsewhereAfterMs: undefined,
    isPlaced: false,
    done: () => undefined,
    isSettled: false,
  };
}

/** One record for the partition, with nothing in front of it. */
function join(line: FlushLine, partition: number): void {
  const queue = new PartitionQueue('t', partition);
  queue.push(queued('1'));
  line.join(queue);
}

test('a slice holds at most 900 KB, and a larger record goes alone', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1 }), (sizes) => {
      const queue = new PartitionQueue('t', 0);
      sizes.forEach((bytes, i) => {
        queue.push(queued(String(i), bytes));
      });
      const taken: unknown[] = [];
      while (queue.length > 0) {
        const slice = queue.take(500, limitBytes);
        const bytes = slice.records.reduce((sum, record) => sum + record.bytes, 0);
        assert.equal(slice.bytes, bytes);
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

test('a flush ends once it is full; the other queues come in the next, in their order', async () => {
  const flushes: (readonly Slice[])[] = [];
  const flushed = Promise.withResolvers<undefined>();
  const line = new FlushLine({
    clock: new SimulatedClock(),
    waitMs: () => 20,
    onFlush: (slices) => {
      flushes.push(slices);
      if (flushes.length === 2) flushed.resolve(undefined);
    },
  });
  const queues = Array.from({ length: 6 }, (_, i) => new PartitionQueue('t', i));
  for (const queue of queues) {
    for (let i = 0; i < 400; i += 1) queue.push(queued(String(i)));
    line.join(queue);
  }
  await flushed.promise;
  assert.deepEqual(
    flushes.map((slices) => slices.map(({ queue }) => queue.partition)),
    [
      [0, 1, 2],
      [3, 4, 5],
    ],
  );
});

test('what comes right behind a flush waits for others', async () => {
  const clock = new SimulatedClock();
  const flushes: unknown[] = [];
  const line = new FlushLine({
    clock,
    waitMs: () => 20,
    onFlush: (slices) => {
      flushes.push(slices.map(({ queue }) => queue.partition));
      if (flushes.length > 1) return;
      queueMicrotask(() => {
        join(line, 1);
      });
    },
  });
  join(line, 0);
  await clock.pass(20);
  await clock.pass(10);
  join(line, 2);
  await clock.pass(10);
  assert.deepEqual(flushes, [[0], [1, 2]]);
});

test('after a full flush, what comes waits for others as before it', async () => {
  const clock = new SimulatedClock();
  const flushes: unknown[] = [];
  const line = new FlushLine({
    clock,
    waitMs: () => 20,
    onFlush: (slices) => flushes.push(slices.map(({ queue }) => queue.partition)),
  });
  for (const partition of [0, 1, 2]) {
    const queue = new PartitionQueue('t', partition);
    queue.push(queued('1', limitBytes));
    line.join(queue);
  }
  await clock.pass(1);
  join(line, 3);
  await clock.pass(10);
  assert.deepEqual(flushes, [[0, 1, 2]]);
  await clock.pass(10);
  assert.deepEqual(flushes, [[0, 1, 2], [3]]);
});

for (const waitMs of [0, 5])
  test(`nothing is flushed after a close, although it was to be in ${waitMs} ms`, async () => {
    const clock = new SimulatedClock();
    let flushes = 0;
    const line = new FlushLine({ clock, waitMs: () => waitMs, onFlush: () => (flushes += 1) });
    join(line, 0);
    line.close();
    await clock.pass(10);
    assert.equal(flushes, 0);
  });

test('the first record after a quiet time does not wait', () => {
  const pace = new FlushPace();
  assert.equal(pace.waitMs(0), 0);
  pace.flushed(0, 12);
  assert.equal(pace.waitMs(100), 0);
});

test('the wait grows with the partitions of the last flush', () => {
  const wait = (partitions: number): number => {
    const pace = new FlushPace();
    pace.flushed(0, partitions);
    return pace.waitMs(0);
  };
  assert.ok(wait(1) < 3);
  assert.ok(wait(12) > 6 && wait(12) < 10);
});

test('a clock that is set back keeps no record waiting', () => {
  const pace = new FlushPace();
  pace.flushed(3_600_000, 12);
  assert.ok(pace.waitMs(0) <= 25);
});

test('no record waits longer than 25 ms, whatever was flushed before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(500))), (flushes) => {
      const pace = new FlushPace();
      let now = 0;
      for (const [gap, partitions] of flushes) {
        now += gap;
        pace.flushed(now, partitions);
        assert.ok(pace.waitMs(now) <= 25);
      }
    }),
  );
});
