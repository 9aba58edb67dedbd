import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { recordCount, topicsOf, type Batch } from '../../../src/kafka/produce/batch.ts';
import { writeBatch, type BatchWriter } from '../../../src/kafka/produce/write-batch.ts';
import { filledQueue, kafkaError } from '../batches.ts';

type Value = Buffer | string | null;

/** Kafka as far as `writeBatch` can see it, and what came of each record. */
function world(answer: (batch: Batch, call: number) => Error | undefined) {
  const log: Value[] = [];
  const calls: Batch[] = [];
  const settled = new Map<string, number>();
  const refused = new Map<string, string>();
  const failures: number[] = [];
  const writer: BatchWriter = {
    call: async (batch) => {
      calls.push(batch);
      await setImmediate();
      const error = answer(batch, calls.length);
      if (error !== undefined) throw error;
      for (const { records } of batch) log.push(...records.map(({ value }) => value));
    },
    settle: (batch, error) => {
      for (const { records } of batch) for (const { done } of records) done(error);
    },
    onFailure: (_failure, _batch, count) => {
      failures.push(count);
    },
    withoutMoved: (batch) => batch,
    pause: () => Promise.resolve(true),
  };
  const batch = (...queues: [topic: string, partition: number, records: number][]): Batch =>
    queues.map(([topic, partition, records]) =>
      filledQueue(topic, partition, records, (value, error) => {
        settled.set(value, (settled.get(value) ?? 0) + 1);
        if (error !== undefined) refused.set(value, error.code);
      }).take(1_000, 1_000_000),
    );
  return { log, calls, settled, refused, failures, writer, batch };
}

const holds = (batch: Batch, value: Value): boolean =>
  batch.some(({ records }) => records.some((record) => record.value === value));

for (const type of ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD']) {
  test(`${type} refuses only the record that it is about; its neighbours are written`, async () => {
    const culprit = 'a/1#3';
    const { writer, batch, refused, log } = world((b) =>
      holds(b, culprit) ? kafkaError(type) : undefined,
    );
    await writeBatch(batch(['a', 0, 4], ['a', 1, 9], ['b', 0, 5]), writer);
    assert.deepEqual([...refused], [[culprit, 'record-refused']]);
    assert.equal(log.length, 17);
  });
}

test('a condemned call is first split by topic', async () => {
  const { writer, batch, calls } = world((b) =>
    holds(b, 'a/0#0') ? kafkaError('INVALID_RECORD') : undefined,
  );
  await writeBatch(batch(['a', 0, 4], ['b', 0, 5], ['b', 1, 5]), writer);
  assert.deepEqual(calls.slice(0, 3).map(topicsOf), [['a', 'b'], ['a'], ['b']]);
  assert.deepEqual(calls.filter((call) => topicsOf(call).includes('b')).map(recordCount), [14, 10]);
});

for (const type of [
  'NOT_LEADER_FOR_PARTITION',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CORRUPT_MESSAGE',
  'INVALID_REQUIRED_ACKS',
  'KAFKAJS_UNKNOWN_ERROR_CODE',
]) {
  test(`${type} condemns nothing: the whole call is sent again until it succeeds`, async () => {
    const { writer, batch, calls, refused, failures } = world((_, call) =>
      call < 20 ? kafkaError(type) : undefined,
    );
    await writeBatch(batch(['a', 0, 4], ['a', 1, 5]), writer);
    assert.equal(calls.length, 20);
    for (const call of calls) assert.equal(recordCount(call), 9);
    assert.equal(refused.size, 0);
    assert.deepEqual(
      failures,
      Array.from({ length: 19 }, (_, i) => i + 1),
    );
  });
}

test('an error of our own or kafkajs’s making condemns nothing', async () => {
  const errors = [new TypeError('seedBroker is undefined'), new RangeError('offset')];
  const { writer, batch, refused, log } = world((_, call) => errors[call - 1]);
  await writeBatch(batch(['a', 0, 4]), writer);
  assert.equal(refused.size, 0);
  assert.equal(log.length, 4);
});

test('a topic that is missing does not hold up the others', async () => {
  const { writer, batch, log } = world((b) =>
    topicsOf(b).includes('gone') ? kafkaError('UNKNOWN_TOPIC_OR_PARTITION') : undefined,
  );
  let pauses = 0;
  const pause = (): Promise<boolean> => Promise.resolve((pauses += 1) < 50);
  await writeBatch(batch(['gone', 0, 3], ['here', 0, 3]), { ...writer, pause });
  assert.deepEqual(log, ['here/0#0', 'here/0#1', 'here/0#2']);
});

test('nothing is settled, and nothing called again, after a stop', async () => {
  const { writer, batch, calls, settled } = world(() => kafkaError('NOT_LEADER_FOR_PARTITION'));
  await writeBatch(batch(['a', 0, 4]), { ...writer, pause: () => Promise.resolve(false) });
  assert.equal(calls.length, 1);
  assert.equal(settled.size, 0);
});

test('whatever fails, each record is settled once, only culprits are refused, and order is kept', async () => {
  const queues = fc.array(
    fc.tuple(fc.constantFrom('a', 'b'), fc.nat(2), fc.integer({ min: 1, max: 12 })),
    { minLength: 1, maxLength: 5 },
  );
  const unique = queues.map((list) => [
    ...new Map(list.map((queue) => [`${queue[0]}/${queue[1]}`, queue])).values(),
  ]);
  await fc.assert(
    fc.asyncProperty(
      unique,
      fc.array(fc.nat(11), { maxLength: 3 }),
      fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
      async (list, culpritNumbers, luck) => {
        const isCulprit = (value: Value): boolean =>
          culpritNumbers.includes(Number(String(value).split('#')[1]));
        let bad = 0;
        const { writer, batch, log, settled, refused } = world((b) => {
          if (bad < 30 && (luck.next().value ?? 9) < 3) {
            bad += 1;
            return kafkaError('NOT_LEADER_FOR_PARTITION');
          }
          const condemned = b.some(({ records }) => records.some(({ value }) => isCulprit(value)));
          return condemned ? kafkaError('MESSAGE_TOO_LARGE') : undefined;
        });
        const whole = batch(...list);
        await writeBatch(whole, writer);
        for (const { queue, records } of whole) {
          const values = records.map(({ value }) => value);
          const prefix = `${queue.topic}/${queue.partition}#`;
          assert.deepEqual(
            log.filter((value) => String(value).startsWith(prefix)),
            values.filter((value) => !isCulprit(value)),
          );
          for (const value of values) {
            assert.equal(settled.get(String(value)), 1);
            assert.equal(refused.has(String(value)), isCulprit(value));
          }
        }
      },
    ),
    { numRuns: 200 },
  );
});
