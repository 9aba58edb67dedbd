import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answers } from './answers.ts';

const keys = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, offset) => `p1-${from + offset}`);

test('one refused event is the answer for its whole batch, at every attempt', () => {
  const answers = new Answers({ id: 'it', refusesEvery: 1_000 });
  const refused = { taken: [], status: 422, body: 'no thanks' };
  assert.deepEqual(answers.to(keys(490, 510)), refused);
  assert.deepEqual(answers.to(keys(490, 500)).taken, keys(490, 500));
  assert.deepEqual(answers.to(['p1-500']), refused);
});

test('an endpoint that tells events apart takes those that it neither refuses nor fails', () => {
  const answers = new Answers({ id: 'it', refusesEvery: 4, failsEvery: 6, tellsApart: true });
  const { taken, status, body } = answers.to(keys(1, 5));
  assert.deepEqual(taken, ['p1-1', 'p1-4']);
  assert.equal(status, 207);
  assert.equal(body, '{"results":[{"status":200},{"status":422},{"status":500},{"status":200}]}');
  assert.deepEqual(answers.to(['p1-3']).taken, ['p1-3']);
});

test('an event fails once, and every other failure is silence', () => {
  const answers = new Answers({ id: 'it', failsEvery: 10, isSilentAtTimes: true });
  const statuses = [keys(1, 9), keys(1, 9), keys(10, 20), keys(20, 30)].map(
    (batch) => answers.to(batch).status,
  );
  assert.deepEqual(statuses, [500, 200, undefined, 500]);
});
