import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import type { PostriderError } from '../../../src/errors.ts';
import type { Batch } from '../../../src/kafka/produce/batch.ts';
import { ProducerQueues, type ProducerHooks } from '../../../src/kafka/produce/producer-queues.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { systemClock, type Clock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { kafkaError } from '../batches.ts';

const partitions = 4;

function started(
  call: (batch: Batch) => Promise<void> = () => setImmediate(),
  hooks: ProducerHooks = {},
  clock: Clock = systemClock,
  countPartitions: () => number = () => partitions,
) {
  const calls: Batch[] = [];
  const written = new Map<string, string[]>();
  const inFlight = new Set<string>();
  const queues = new ProducerQueues({
    call: async (batch) => {
      calls.push(batch);
      const names = batch.map(({ queue }) => `${queue.topic}/${queue.partition}`);
      assert.equal(new Set(names).size, names.length, 'a partition twice in a call');
      for (const name of names) {
        assert.equal(inFlight.has(name), false, 'a partition in two calls');
        inFlight.add(name);
      }
      try {
        await call(batch);
      } finally {
        for (const name of names) inFlight.delete(name);
      }
      for (const { queue, records } of batch) {
        const name = `${queue.topic}/${queue.partition}`;
        const values = records.map(({ value }) => String(value));
        written.set(name, [...(written.get(name) ?? []), ...values]);
      }
    },
    countPartitions: () => setImmediate(countPartitions()),
    pause: async (ms, signal) => {
      const isBackoff = ms < 10_000;
      await delay(isBackoff ? 1 : ms, undefined, { signal }).catch(() => undefined);
    },
    clock,
    log: silentLogger,
    hooks,
  });
  return { queues, calls, written };
}

/** The stream never ends, whatever its type says. */
const draw = (luck: Iterator<number, unknown>): number => luck.next().value as number;

const record = (topic: string, value: string, partition?: number): OutgoingRecord => ({
  topic,
  key: value,
  value,
  ...(partition === undefined ? {} : { partition }),
});

test('one call in flight per partition, in order, each record acknowledged once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(2), fc.nat(3)), { maxLength: 400 }),
      fc.infiniteStream(fc.nat(9)),
      async (given, luck) => {
        const { queues, written } = started(async () => {
          for (let i = draw(luck); i > 0; i -= 1) await setImmediate();
          if (draw(luck) === 0) throw kafkaError('NOT_LEADER_FOR_PARTITION');
        });
        const acknowledged: number[] = [];
        const expected = new Map<string, string[]>();
        for (const [i, [topic, partition, gap]] of given.entries()) {
          if (gap === 0) await setImmediate();
          const name = `${topic}/${partition}`;
          expected.set(name, [...(expected.get(name) ?? []), String(i)]);
          queues.add(record(topic, String(i), partition), (refused) => {
            assert.equal(refused, undefined);
            acknowledged.push(i);
          });
        }
        await queues.close(30_000);
        assert.deepEqual(written, expected);
        assert.deepEqual(
          acknowledged.sort((a, b) => a - b),
          given.map((_, i) => i),
        );
        assert.equal(queues.records, 0);
        assert.equal(queues.bytes, 0);
      },
    ),
    { numRuns: 50 },
  );
});

test('records of a key go to one partition, also those that came before it was known which', async () => {
  const { queues, written } = started();
  const given = Array.from({ length: 100 }, (_, i) => ({ ...record('a', String(i)), key: 'user' }));
  await queues.addAll(given.slice(0, 50));
  await queues.addAll(given.slice(50));
  assert.deepEqual([...written.values()], [given.map(({ value }) => value)]);
});

test('when a topic is made again with fewer partitions, what was for the others goes to those', async () => {
  let count = partitions;
  const { queues, written } = started(
    (batch) =>
      batch.some(({ queue }) => queue.partition >= count)
        ? Promise.reject(Object.assign(new Error('gone'), { name: 'PartitionUnanswered' }))
        : setImmediate(),
    {},
    systemClock,
    () => count,
  );
  const given = Array.from({ length: 100 }, (_, i) => record('a', String(i)));
  await queues.addAll(given.slice(0, 50));
  assert.equal(written.size, partitions);
  written.clear();
  count = 2;
  await queues.addAll(given.slice(50));
  assert.deepEqual([...written.keys()].sort(), ['a/0', 'a/1']);
  assert.equal([...written.values()].flat().length, 50);
  assert.deepEqual([queues.records, queues.bytes], [0, 0]);
});

test('calls for other partitions do not wait for one that takes long', async () => {
  const slow = Promise.withResolvers<undefined>();
  const { queues } = started(async (batch) => {
    if (batch.some(({ queue }) => queue.partition === 0)) await slow.promise;
  });
  const first = queues.addAll([record('a', 'slow', 0)]);
  await setImmediate();
  await setImmediate();
  await queues.addAll([record('a', 'quick', 1)]);
  slow.resolve(undefined);
  await first;
});

test('records that come while a call is on its way go together in the next', async () => {
  const { queues, calls } = started();
  await queues.addAll([record('a', 'first', 0)]);
  await queues.addAll(Array.from({ length: 300 }, (_, i) => record('a', String(i), i % 3)));
  assert.equal(calls.length, 2);
});

test('records that may wait go together, a fifth of a second later, and hold up no others', async () => {
  const clock = new SimulatedClock();
  const { queues, calls, written } = started(undefined, {}, clock);
  const patient = (value: string, partition: number): OutgoingRecord => ({
    ...record('later', value, partition),
    mayWait: true,
  });
  const first = queues.addAll([patient('1', 0), patient('2', 1)]);
  await clock.pass(100);
  const second = queues.addAll([patient('3', 1)]);
  await queues.addAll([record('now', '4', 0)]);
  assert.deepEqual([...written.keys()], ['now/0']);
  await clock.pass(100);
  await Promise.all([first, second]);
  assert.equal(calls.length, 2);
  assert.deepEqual(written.get('later/1'), ['2', '3']);
});

test('enough records that may wait do not', async () => {
  const { queues, calls } = started(undefined, {}, new SimulatedClock());
  const given = Array.from({ length: 1_000 }, (_, i) => record('later', String(i), i % 4));
  await queues.addAll(given.map((each) => ({ ...each, mayWait: true })));
  assert.equal(calls.length, 1);
});

test('many records go in several calls, none of them too large to let other work in', async () => {
  const { queues, calls } = started();
  const given = Array.from({ length: 10_000 }, (_, i) => record('a', String(i), i % 4));
  await queues.addAll(given);
  for (const batch of calls) {
    const records = batch.reduce((sum, slice) => sum + slice.records.length, 0);
    assert.ok(records <= 1_500);
  }
  assert.ok(calls.length <= 20, `${calls.length} calls`);
});

test('a record given from within an acknowledgement is written too', async () => {
  const { queues, written } = started();
  await new Promise<void>((resolve) => {
    queues.add(record('a', 'first', 0), () => {
      queues.add(record('a', 'second', 0), () => {
        resolve();
      });
    });
  });
  assert.deepEqual(written.get('a/0'), ['first', 'second']);
});

test('what cannot be encoded is refused without a call, after `add` has returned', async () => {
  const refusedTopics: string[] = [];
  const { queues, calls } = started(undefined, { refused: (topic) => refusedTopics.push(topic) });
  const wrong = { topic: 'a', key: 'k', value: 7 } as unknown as OutgoingRecord;
  let hasReturned = false;
  const refused = await new Promise<PostriderError | undefined>((resolve) => {
    queues.add(wrong, (error) => {
      assert.equal(hasReturned, true);
      resolve(error);
    });
    hasReturned = true;
  });
  assert.equal(refused?.code, 'record-refused');
  assert.deepEqual(refusedTopics, ['a']);
  assert.equal(calls.length, 0);
});

test('sending several rejects with the first refusal, once all others are written', async () => {
  const { queues, written } = started((batch) =>
    batch.some(({ records }) => records.some(({ value }) => value === 'bad'))
      ? Promise.reject(kafkaError('INVALID_RECORD'))
      : setImmediate(),
  );
  const given = ['1', 'bad', '2', '3'].map((value) => record('a', value, 0));
  await assert.rejects(queues.addAll(given), { code: 'record-refused' });
  assert.deepEqual(written.get('a/0'), ['1', '2', '3']);
});

test('hooks see every call: what was written, and why others failed', async () => {
  const seen: unknown[] = [];
  let failures = 0;
  const { queues } = started(
    () => {
      failures += 1;
      return failures === 1 ? Promise.reject(kafkaError('LEADER_NOT_AVAILABLE')) : setImmediate();
    },
    {
      written: (call) => seen.push(call),
      failed: (reason) => seen.push(reason),
    },
  );
  await queues.addAll([record('a', '1', 0), record('a', '2', 1)]);
  assert.deepEqual(seen, ['LEADER_NOT_AVAILABLE', { records: 2, partitions: 2 }]);
});

test('a close that cannot wait long enough settles nothing, and whoever sent learns of it', async () => {
  const { queues } = started(() => Promise.reject(kafkaError('LEADER_NOT_AVAILABLE')));
  let settled = 0;
  queues.add(record('a', '1', 0), () => (settled += 1));
  const sent = queues.addAll([record('a', '2', 1)]);
  await Promise.all([assert.rejects(sent, { code: 'stopped' }), queues.close(1)]);
  assert.equal(settled, 0);
  assert.equal(queues.records, 2);
  assert.throws(
    () => {
      queues.add(record('a', '3', 0), () => undefined);
    },
    { code: 'stopped' },
  );
});
