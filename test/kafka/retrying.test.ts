import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, retryWhileUnsettled } from '../../src/kafka/retrying.ts';
import { kafkaError } from './batches.ts';

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

test('while any topic has no leader yet, the question is asked again', async () => {
  const errors = [kafkaError('LEADER_NOT_AVAILABLE'), new TypeError('topicMetadata of null')];
  const answer = await retryWhileUnsettled(() => {
    const error = errors.shift();
    return error === undefined ? Promise.resolve(7) : Promise.reject(error);
  });
  assert.equal(answer, 7);
});

test('what passes by itself is asked again for its time, not longer', async () => {
  const reasons = ['NOT_LEADER_FOR_PARTITION'];
  let asks = 0;
  const question = (): Promise<never> => {
    asks += 1;
    return Promise.reject(kafkaError('NOT_LEADER_FOR_PARTITION'));
  };
  await assert.rejects(retryWhileUnsettled(question, { forMs: 100, reasons }));
  assert.equal(asks, 2);
  await assert.rejects(retryWhileUnsettled(question));
  assert.equal(asks, 3);
});

test('any other failure is not repeated', async () => {
  let asks = 0;
  const question = (): Promise<never> => {
    asks += 1;
    return Promise.reject(kafkaError('INVALID_CONFIG'));
  };
  await assert.rejects(retryWhileUnsettled(question));
  assert.equal(asks, 1);
});
