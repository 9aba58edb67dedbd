import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import {
  planDeferral,
  planRetry,
  wantedBreakerDelayMs,
  within,
} from '../../src/delivery/retry-policy.ts';
import type { Circumstances, DeferralCause } from '../../src/delivery/retry-policy.ts';
import { defaultPolicy, hourMs, minuteMs } from './simulated-world.ts';

const nowMs = Date.UTC(2026, 0, 1);
const middle = (): number => 0.5;
const now = (random: () => number): Circumstances => ({
  nowMs,
  random,
  policy: defaultPolicy,
  reachability: { cutOffMs: () => 0 },
});
/** A destination's own, which may be as short as one that leaves no time for a retry. */
const ownWindow = fc.option(fc.integer({ min: 1_000, max: 4 * hourMs }), { nil: undefined });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('a retry', () => {
  test('waits for the tier of its attempt, and starts the clock once', () => {
    const plans = [1, 2, 3, 4, 5, 6, 7, 20].map((attempts) =>
      planRetry({ attempts }, 0, now(middle)),
    );
    assert.deepEqual(
      plans.map((plan) => plan.kind === 'later' && plan.tierMs),
      [10_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000, 3_600_000, 3_600_000],
    );
    assert.ok(
      plans.every((plan) => plan.kind === 'later' && plan.deadlineMs === nowMs + 4 * hourMs),
    );
    const deadlineMs = nowMs + 2 * hourMs;
    const running = planRetry({ attempts: 3, deadlineMs }, 0, now(middle));
    assert.equal(running.kind === 'later' && running.deadlineMs, deadlineMs);
  });

  test('is due after exactly its tier, give or take a tenth', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), chance, (attempts, random) => {
        const plan = planRetry(
          { attempts },
          0,
          now(() => random),
        );
        assert.ok(plan.kind === 'later');
        const share = (plan.dueMs - nowMs) / plan.tierMs;
        assert.ok(share >= 0.899 && share <= 1.101, `${share} of the tier`);
      }),
    );
  });

  test('waits as long as Retry-After says, rounded up to a tier, but never beyond the deadline', () => {
    const plan = (retryAfterMs: number): unknown => {
      const planned = planRetry({ attempts: 1 }, retryAfterMs, now(middle));
      return planned.kind === 'later' && planned.tierMs;
    };
    assert.equal(plan(5_000), 10_000);
    assert.equal(plan(61_000), 5 * minuteMs);
    assert.equal(plan(24 * hourMs), hourMs);
    assert.equal(plan(Infinity), hourMs);
  });

  test('has more time after an outage of our own network, and keeps its deadline', () => {
    const deadlineMs = nowMs - 1_000;
    const after = (cutOffMs: number): string | number => {
      const plan = planRetry({ attempts: 3, deadlineMs }, 0, {
        ...now(middle),
        reachability: {
          cutOffMs: (fromMs) => (fromMs === deadlineMs - 4 * hourMs ? cutOffMs : 0),
        },
      });
      if (plan.kind === 'later') assert.equal(plan.deadlineMs, deadlineMs);
      return plan.kind === 'later' ? plan.tierMs : plan.reason;
    };
    assert.deepEqual([after(0), after(10 * minuteMs)], ['expired', 300_000]);
  });

  test('that would land past the deadline goes to the longest tier that fits', () => {
    const plan = (leftMs: number): unknown => {
      const deadlineMs = nowMs + leftMs;
      const planned = planRetry({ attempts: 6, deadlineMs }, 0, now(middle));
      return planned.kind === 'later' && planned.tierMs;
    };
    assert.deepEqual(
      [20, 6, 2].map((minutes) => plan(minutes * minuteMs)),
      [15 * minuteMs, 5 * minuteMs, minuteMs],
    );
  });

  test('has room for its jitter and for a moment in the lane before the deadline', () => {
    const plan = (leftMs: number): unknown =>
      planRetry(
        { attempts: 1, deadlineMs: nowMs + leftMs },
        0,
        now(() => 0.999),
      ).kind;
    assert.deepEqual([10_500, 11_500, 12_000].map(plan), ['give-up', 'give-up', 'later']);
  });

  test('never lands past the deadline, whatever the attempt, the time left and the endpoint say', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 4 * hourMs }),
        fc.integer({ min: 0, max: 8 * hourMs }),
        ownWindow,
        chance,
        (attempts, leftMs, retryAfterMs, windowMs, random) => {
          const deadlineMs = nowMs + leftMs;
          const state = { attempts, deadlineMs };
          const circumstances = { ...now(() => random), policy: within(defaultPolicy, windowMs) };
          const plan = planRetry(state, retryAfterMs, circumstances);
          if (plan.kind === 'later') assert.ok(plan.dueMs <= deadlineMs);
          else assert.ok(leftMs < 13_000, 'gives up only where not even the shortest tier fits');
        },
      ),
    );
  });
});

describe('a window of its own', () => {
  test('ends the retries of an event whose clock starts, if it is shorter than that of the settings', () => {
    const settings = fc.integer({ min: minuteMs, max: 4 * hourMs });
    const causes = fc.constantFrom<DeferralCause>('breaker', 'retry-after');
    fc.assert(
      fc.property(ownWindow, settings, causes, chance, (windowMs, settingMs, cause, random) => {
        const policy = within({ ...defaultPolicy, windowMs: settingMs }, windowMs);
        const circumstances = { ...now(() => random), policy };
        const endMs = nowMs + Math.min(windowMs ?? settingMs, settingMs);
        for (const plan of [
          planRetry({ attempts: 1 }, 0, circumstances),
          planDeferral({ attempts: 0 }, cause, minuteMs, nowMs, circumstances),
        ])
          if (plan.kind === 'later') {
            assert.equal(plan.deadlineMs, endMs);
            assert.ok(plan.dueMs <= endMs);
          } else assert.ok(endMs - nowMs < 13_000, 'no time for even the shortest tier');
      }),
    );
  });

  test('that has changed since does not move an end that is set', () => {
    const deadlineMs = nowMs + hourMs;
    for (const windowMs of [minuteMs, 4 * hourMs]) {
      const circumstances = { ...now(middle), policy: within(defaultPolicy, windowMs) };
      const plan = planRetry({ attempts: 2, deadlineMs }, 0, circumstances);
      assert.equal(plan.kind === 'later' && plan.deadlineMs, deadlineMs);
    }
  });
});

describe('a deferral', () => {
  const defer = (
    cause: DeferralCause,
    state = {},
    appendMs = nowMs,
  ): ReturnType<typeof planDeferral> =>
    planDeferral({ attempts: 0, ...state }, cause, minuteMs, appendMs, now(middle));

  test('for what the endpoint does or asks for starts the clock, for other causes it does not', () => {
    const deadlines = (['breaker', 'retry-after', 'lane'] as const).map((cause) => {
      const plan = defer(cause);
      return plan.kind === 'later' && plan.deadlineMs;
    });
    assert.deepEqual(deadlines, [nowMs + 4 * hourMs, nowMs + 4 * hourMs, undefined]);
  });

  test('without time left is an attempt now, unless there can be none', () => {
    const state = { deadlineMs: nowMs + 5_000 };
    assert.deepEqual(defer('lane', state), { kind: 'no-time-left' });
    assert.deepEqual(defer('retry-after', state), { kind: 'no-time-left' });
    assert.deepEqual(defer('breaker', state), { kind: 'give-up', reason: 'expired' });
  });

  test('of an event older than the maximum gives it up', () => {
    assert.deepEqual(defer('lane', {}, nowMs - 73 * hourMs), {
      kind: 'give-up',
      reason: 'too-old',
    });
  });

  test('for a breaker grows with the outage, between 10 s and 15 min, more slowly for what has come back', () => {
    const delays = (hasReturned: boolean): number[] =>
      [0, 100_000, 5 * hourMs].map((openForMs) => wantedBreakerDelayMs(openForMs, hasReturned));
    assert.deepEqual(delays(false), [10_000, 45_000, 15 * minuteMs]);
    assert.deepEqual(delays(true), [10_000, 13_600, 15 * minuteMs]);
  });
});
