import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, failureNamed, failureOf } from '../../src/kafka/failure.ts';
import { kafkaError } from './batches.ts';

test('the reason is what Kafka answered, however kafkajs wrapped it', () => {
  const answered = kafkaError('MESSAGE_TOO_LARGE');
  const wrapped = Object.assign(new Error('retries', { cause: answered }), {
    name: 'KafkaJSNumberOfRetriesExceeded',
  });
  assert.equal(failureOf(wrapped).reason, 'MESSAGE_TOO_LARGE');
});

test('without an answer, the reason is the error’s name', () => {
  const error = Object.assign(new Error('refused'), { name: 'KafkaJSConnectionError' });
  assert.deepEqual(failureOf(error), { reason: 'KafkaJSConnectionError', message: 'refused' });
});

test('what is no error at all has a reason too', () => {
  for (const thrown of ['oops', null, undefined])
    assert.deepEqual(failureOf(thrown), { reason: 'Error', message: String(thrown) });
});

test('waits double from 0.1 s up to the longest, give or take a fifth', () => {
  const middle = (failures: number, longestMs?: number): number =>
    backoffMs(failures, longestMs, () => 0.5);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 1_000].map((failures) => middle(failures)),
    [100, 200, 400, 800, 1_000, 1_000],
  );
  assert.deepEqual([middle(6, 5_000), middle(7, 5_000)], [3_200, 5_000]);
  const first = (random: number): number => backoffMs(1, undefined, () => random);
  assert.equal(first(0), 80);
  assert.ok(first(1) < 121);
});

test('a failure says what Kafka adds to its name', () => {
  assert.deepEqual(failureNamed('INVALID_RECORD', 'no key'), {
    reason: 'INVALID_RECORD',
    message: 'INVALID_RECORD, no key',
  });
  assert.equal(failureNamed('INVALID_RECORD', null).message, 'INVALID_RECORD');
});
