import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { LaneView, Prospects } from '../../src/delivery/lane/deferral.ts';
import { decide } from '../../src/delivery/verdict.ts';
import type { EventState, Happened, Verdict } from '../../src/delivery/verdict.ts';
import { defaultPolicy, hourMs } from './simulated-world.ts';

const nowMs = Date.UTC(2026, 0, 1);
const now = {
  nowMs,
  random: (): number => 0.5,
  policy: defaultPolicy,
  reachability: { cutOffMs: () => 0 },
};

const fresh: EventState = {
  envelope: { attempts: 0, appendTimeMs: nowMs - 1_000, redrivenMs: undefined },
  deadlineMs: undefined,
  hasReturned: false,
  isInTime: true,
  claim: { dedicated: false },
  record: { timestampMs: nowMs - 1_000 },
};

const atEase: LaneView = {
  availability: 'yes',
  login: 'ready',
  tokenlessMs: 0,
  cutOffMs: undefined,
  openForMs: 0,
  waiting: 0,
  returned: 0,
  together: 1,
  maxInFlight: 64,
  heldMs: 0,
  isRateElsewhere: false,
  isSlowRefused: false,
  failingForMs: 0,
  drainMs: 0,
  isOddOneOut: false,
  isDedicated: false,
};
const atOnce: Prospects = { rateWaitMs: 0, rateTurnMs: 0, turnMs: 0, fullness: 0 };

function offered(
  lane: Partial<LaneView>,
  prospects: Partial<Prospects> = {},
  event: Partial<EventState> = {},
): Verdict {
  const happened: Happened = {
    kind: 'offer',
    lane: { ...atEase, ...lane },
    prospects: { ...atOnce, ...prospects },
  };
  return decide({ ...fresh, ...event }, happened, now);
}

function causeOf(verdict: Verdict): string {
  return verdict.kind === 'put-off' ? verdict.cause : verdict.kind;
}

describe('an event that its lane may take', () => {
  test('waits for its turn, however long, as long as it crowds nobody', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: hourMs }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.boolean(),
        (turnMs, fullness, isOddOneOut) => {
          const verdict = offered({ isOddOneOut }, { turnMs, fullness });
          const mayCrowd = isOddOneOut && fullness >= 0.5 && turnMs > 4_000;
          if (!mayCrowd) assert.equal(verdict.kind, 'wait');
          if (mayCrowd && turnMs > 10_000) assert.equal(causeOf(verdict), 'lane');
        },
      ),
    );
  });

  test('in a window that is full, has four seconds', () => {
    const at = (turnMs: number): string =>
      causeOf(offered({ isOddOneOut: true }, { turnMs, fullness: 1 }));
    assert.deepEqual([at(4_000), at(4_001)], ['wait', 'lane']);
  });

  test('is put off for what keeps the lane from sending, and says for what', () => {
    assert.deepEqual(
      [
        offered({ availability: 'no', openForMs: 1 }),
        offered({ heldMs: 2_001 }),
        offered({}, { rateWaitMs: 2_001 }),
        offered({ isSlowRefused: true, waiting: 1 }),
      ].map(causeOf),
      ['breaker', 'retry-after', 'rate-limit', 'slow'],
    );
  });

  test('of a dedicated topic waits there, but not for ever', () => {
    const claim = { dedicated: true };
    const lane = { isDedicated: true, availability: 'no', openForMs: 60_000 } as const;
    assert.equal(offered(lane, {}, { claim }).kind, 'wait');
    const review = (event: Partial<EventState>): Verdict =>
      decide(
        { ...fresh, claim, ...event },
        { kind: 'review', lane: { ...atEase, ...lane }, prospects: atOnce },
        now,
      );
    assert.deepEqual(review({}), { kind: 'wait', deadlineMs: nowMs - 1_000 + 4 * hourMs });
    assert.equal(review({ deadlineMs: nowMs }).kind, 'give-up');
    assert.equal(causeOf(review({ record: { timestampMs: nowMs - 84 * hourMs } })), 'retention');
  });
});

describe('an event whose time is over at its turn', () => {
  const late = { ...fresh, deadlineMs: nowMs - 1 };
  const atTurn = (event: EventState): Verdict =>
    decide(event, { kind: 'turn', fencedBy: undefined }, now);

  test('is given up: by the fault of its destination if it was there in time, else by ours', () => {
    const reasons = [late, { ...late, isInTime: false }].map((event) => {
      const verdict = atTurn(event);
      return verdict.kind === 'give-up' && verdict.reason;
    });
    assert.deepEqual(reasons, ['expired', 'expired-late']);
    assert.equal(atTurn(fresh).kind, 'deliver');
  });

  test('has as much more as nobody could be reached from here within its window', () => {
    const decided = (cutOffMs: number, event: EventState): string => {
      const from = (fromMs: number): number => (fromMs === nowMs - 1 - 4 * hourMs ? cutOffMs : 0);
      const verdict = decide(
        event,
        { kind: 'turn', fencedBy: undefined },
        { ...now, reachability: { cutOffMs: from } },
      );
      return verdict.kind;
    };
    assert.deepEqual([decided(1, late), decided(0, late)], ['deliver', 'give-up']);
  });

  test('is dropped all the same if its user was deleted', () => {
    assert.equal(decide(late, { kind: 'turn', fencedBy: 'user' }, now).kind, 'drop');
  });
});

test('a want of our own is no attempt, as long as there is time for one', () => {
  const outcome = { kind: 'retryable', cause: 'local', detail: 'EMFILE' } as const;
  const after = (event: Partial<EventState>): Verdict =>
    decide({ ...fresh, ...event }, { kind: 'attempted', outcome }, now);
  const verdict = after({});
  assert.ok(verdict.kind === 'put-off' && verdict.cause === 'local');
  assert.equal(verdict.plan.deadlineMs, undefined);
  assert.equal(after({ deadlineMs: nowMs + 5_000 }).kind, 'give-up');
});
