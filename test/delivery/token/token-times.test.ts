import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAway, mayBeRevoked, pauseMs, timesOf } from '../../../src/delivery/token/token-times.ts';

describe('a token', () => {
  test('of an hour is renewed twelve minutes before its end, and not used in its last ten seconds', () => {
    assert.deepEqual(timesOf(1_000, 3_600), { renewMs: 2_873_000, endMs: 3_591_000 });
  });

  test('of ten seconds is used for nine of them, and of one second for half of it', () => {
    assert.deepEqual(timesOf(0, 10), { renewMs: 7_200, endMs: 9_000 });
    assert.deepEqual(timesOf(0, 1), { renewMs: 400, endMs: 500 });
  });

  test('whose server says nothing of its end lives for five minutes', () => {
    assert.equal(timesOf(0).endMs, 290_000);
  });

  test('of a hundred years lives for a day', () => {
    assert.equal(timesOf(0, 100 * 365 * 86_400).endMs, 86_390_000);
  });

  test('that is refused just after it was fetched was not revoked', () => {
    assert.equal(mayBeRevoked(0, 29_999), false);
    assert.equal(mayBeRevoked(0, 30_000), true);
  });
});

describe('an authorization server that gives no token', () => {
  test('is waited for during three seconds', () => {
    assert.equal(isAway({ fromMs: 1_000, failedMs: 3_999 }), false);
    assert.equal(isAway({ fromMs: 1_000, failedMs: 4_000 }), true);
  });

  for (const [failingMs, expectedMs] of [
    [10, 1_000],
    [60_000, 6_000],
    [86_400_000, 60_000],
  ] as const)
    test(`is asked again after ${expectedMs} ms at most when it has failed for ${failingMs} ms`, () => {
      const tries = { fromMs: 5, failedMs: 5 + failingMs };
      assert.equal(
        pauseMs(tries, () => 0),
        expectedMs,
      );
      assert.equal(
        pauseMs(tries, () => 0.5),
        0.9 * expectedMs,
      );
    });
});
