import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConcurrencyLimit } from '../../../src/delivery/lane/slots.ts';

/** The limit after each second, in which so many requests were answered. */
function limitsAfter(max: number, answers: readonly number[]): number[] {
  const concurrency = new ConcurrencyLimit(max);
  return answers.map((answered, second) => {
    for (let n = 0; n < answered; n++) concurrency.answered();
    concurrency.tick(true, (second + 1) * 1_000);
    return concurrency.limit;
  });
}

describe('a lower limit of requests in flight', () => {
  test('is tried after twenty answers, and after two for each request in flight', () => {
    assert.deepEqual(limitsAfter(10, [19, 0, 1]), [10, 10, 7]);
    assert.deepEqual(limitsAfter(10, [20]), [7]);
    assert.deepEqual(limitsAfter(100, [199, 1]), [100, 70]);
    assert.deepEqual(limitsAfter(100, [200]), [70]);
  });

  test('is given up where several that cost little have cost too much together', () => {
    assert.deepEqual(limitsAfter(100, [1_000, 930, 910, 905]), [70, 49, 34, 23]);
    assert.deepEqual(limitsAfter(100, [1_000, 930, 865]), [70, 49, 70]);
  });
});
