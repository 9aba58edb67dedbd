import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deliveredWith, timedOut, type Outcome } from '../../src/delivery/outcome.ts';
import {
  standingOf,
  type DestinationFacts,
  type Standing,
  type UrlFacts,
} from '../../src/delivery/status/standing.ts';

const startMs = Date.UTC(2026, 0, 1);
const second = 1_000;

const wellUrl: UrlFacts = {
  breaker: 'closed',
  probeAtMs: undefined,
  failuresInRow: 0,
  failingSinceMs: undefined,
  last: deliveredWith(200),
  lastMs: startMs,
};

const well: DestinationFacts = {
  configured: 'enabled',
  urls: [wellUrl],
  hold: undefined,
  isSaturated: false,
  isSlow: false,
  isLimited: false,
};

/** A URL that has failed so often, from the start until then. */
function failing(failuresInRow: number, untilMs: number, last: Outcome = timedOut): UrlFacts {
  return { ...wellUrl, failuresInRow, failingSinceMs: startMs, last, lastMs: startMs + untilMs };
}

const tooMany: Outcome = { kind: 'retryable', cause: 'status-429', detail: 'answered 429' };

type Seen = readonly [number, Partial<DestinationFacts>];

/** What it is once all of this has been seen, each at its time. */
function after(...seen: readonly Seen[]): Standing {
  let standing: Standing | undefined;
  for (const [atMs, facts] of seen)
    standing = standingOf(standing, { ...well, ...facts }, startMs + atMs);
  assert.ok(standing !== undefined);
  return standing;
}

function stateAfter(...seen: readonly Seen[]): readonly [string, number] {
  const { state, sinceMs } = after(...seen);
  return [state, sinceMs - startMs];
}

describe('a destination', () => {
  test('is well without anything that speaks against it, and nothing new is made of that', () => {
    const standing = after([0, {}]);
    assert.equal(standing.state, 'ok');
    assert.equal(standingOf(standing, well, startMs + 5 * second), standing);
  });

  test('fails while a breaker is not closed, since the first failure', () => {
    const urls = [{ ...failing(3, 2 * second), breaker: 'open' as const }];
    assert.deepEqual(stateAfter([2 * second, { urls }]), ['failing', 0]);
  });

  for (const [failures, forMs, state] of [
    [4, 60 * second - 1, 'ok'],
    [5, 5 * second - 1, 'ok'],
    [5, 5 * second, 'failing'],
    [1, 600 * second, 'ok'],
    [2, 60 * second, 'failing'],
  ] as const)
    test(`that has failed ${failures} times in ${forMs} ms is ${state}`, () => {
      const urls = [failing(failures, forMs)];
      assert.equal(stateAfter([forMs, { urls }])[0], state);
    });

  test('fails when its second URL refuses everything', () => {
    const refused: Outcome = { kind: 'permanent', reason: 'http-422', detail: 'answered 422' };
    const urls = [wellUrl, failing(5, 6 * second, refused)];
    assert.deepEqual(stateAfter([6 * second, { urls }]), ['failing', 0]);
  });

  test('goes on failing until a success, however its breaker changes', () => {
    const open = { ...failing(9, 9 * second), breaker: 'open' as const };
    const first = [9 * second, { urls: [open] }] as const;
    assert.equal(stateAfter(first, [30 * second, { urls: [failing(1, 0)] }])[0], 'failing');
    assert.deepEqual(stateAfter(first, [30 * second, {}]), ['ok', 30 * second]);
  });

  test('is held where it answers nothing but 429, and fails where that is one of two URLs', () => {
    const url = failing(5, 6 * second, tooMany);
    assert.deepEqual(stateAfter([6 * second, { urls: [url] }]), ['held', 0]);
    assert.equal(stateAfter([6 * second, { urls: [url, wellUrl] }])[0], 'failing');
  });

  test('is held at once when it asks for long, and after ten seconds when it asks again and again', () => {
    const hold = (untilMs: number): Partial<DestinationFacts> => ({
      hold: { sinceMs: startMs, untilMs: startMs + untilMs },
    });
    assert.deepEqual(stateAfter([0, hold(10 * second)]), ['held', 0]);
    assert.equal(stateAfter([0, hold(second)])[0], 'ok');
    assert.equal(stateAfter([0, hold(second)], [9_999, hold(9_500)])[0], 'ok');
    assert.deepEqual(stateAfter([0, hold(second)], [10_000, hold(10_500)]), ['held', 0]);
    assert.equal(stateAfter([0, hold(10 * second)], [15_000, {}])[0], 'ok');
  });

  for (const [state, facts] of [
    ['saturated', { isSaturated: true, isSlow: true, isLimited: true }],
    ['slow', { isSlow: true, isLimited: true }],
    ['limited', { isLimited: true }],
  ] as const)
    test(`is ${state} once it has looked so for ten seconds, and well after ten others`, () => {
      const soon = [0, facts] as const;
      const late = [10 * second, facts] as const;
      assert.equal(stateAfter(soon, [9_999, facts])[0], 'ok');
      assert.deepEqual(stateAfter(soon, late), [state, 0]);
      assert.equal(stateAfter(soon, [5 * second, {}], late)[0], 'ok');
      assert.equal(stateAfter(soon, late, [11 * second, {}], [20 * second, {}])[0], state);
      assert.deepEqual(stateAfter(soon, late, [11 * second, {}], [21 * second, {}]), [
        'ok',
        11 * second,
      ]);
    });

  test('that failed and is slow now is well until that has lasted', () => {
    const urls = [{ ...failing(3, 2 * second), breaker: 'open' as const }];
    const seen = [
      [0, { urls }],
      [20 * second, { isSlow: true }],
    ] as const;
    assert.equal(stateAfter(...seen)[0], 'ok');
    assert.equal(stateAfter(...seen, [30 * second, { isSlow: true }])[0], 'slow');
  });

  for (const configured of ['disabled', 'unreadable'] as const)
    test(`is ${configured}, whatever else is known of it`, () => {
      const urls = [failing(9, 9 * second)];
      assert.deepEqual(stateAfter([9 * second, { configured, urls }]), [configured, 9 * second]);
    });
});
