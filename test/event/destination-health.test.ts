import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  byUrgency,
  firstFailure,
  healthOf,
  judgedView,
  noneGivenUp,
  type Evidence,
  type JudgedView,
  type Past,
} from '../../src/event/destination-health.ts';
import type {
  DestinationStatus,
  UrlStatus,
  WorkerStatus,
} from '../../src/event/destination-status.ts';
import { viewOf } from '../../src/event/destination-view.ts';

const nowMs = Date.UTC(2026, 0, 31, 12);
const minuteMs = 60_000;

function at(agoMs: number): string {
  return new Date(nowMs - agoMs).toISOString();
}

const answered = (outcome: 'delivered' | 'failed' | 'refused', agoMs: number): UrlStatus => ({
  url: 'https://crm.example/',
  breaker: 'closed',
  lastAnswer: { at: at(agoMs), outcome },
  ...(outcome === 'delivered' ? {} : { failingSince: at(agoMs) }),
});

function report(more: Partial<DestinationStatus> = {}): DestinationStatus {
  return {
    kind: 'destination',
    worker: 'w1',
    at: at(0),
    destination: 'crm',
    state: 'ok',
    urls: [answered('delivered', 5_000)],
    waiting: { here: 0, tiers: {} },
    inFlight: 0,
    perMinute: { delivered: 10, failed: 0 },
    ...more,
  };
}

const neverAny: Past = {
  deliveredMs: undefined,
  badInRow: 0,
  badSinceMs: undefined,
  badMs: undefined,
  isRefused: false,
  deliveredLately: 0,
  deliveredSinceLoss: 0,
};
const delivered: Past = { ...neverAny, deliveredMs: nowMs - 20 * minuteMs, deliveredSinceLoss: 9 };
const bad = (badInRow: number, isRefused: boolean, agoMs: number): Past => ({
  ...delivered,
  badInRow,
  isRefused,
  badSinceMs: nowMs - agoMs,
  badMs: nowMs - agoMs,
  deliveredSinceLoss: 0,
});

interface Case extends Partial<Omit<Evidence, 'view' | 'failure' | 'givenUp'>> {
  /** In the last hour. */
  readonly givenUp?: number;
  readonly justNow?: number;
  readonly reports?: readonly DestinationStatus[];
}

/** Nothing is configured oddly, a worker lives, none speaks of the destination, and nobody reads attempts. */
function stateOf({ reports = [], givenUp = 0, justNow = 0, ...more }: Case): string {
  const evidence: Evidence = {
    configured: 'enabled',
    isWatched: true,
    view: reports.length === 0 ? undefined : viewOf('crm', reports),
    failure: firstFailure(reports),
    past: undefined,
    givenUp: { lastHour: givenUp, justNow },
    ...more,
  };
  return healthOf(evidence, nowMs).state;
}

const failed = (agoMs: number): DestinationStatus => report({ urls: [answered('failed', agoMs)] });
const refused = (agoMs: number): DestinationStatus =>
  report({ urls: [answered('refused', agoMs)] });
const ofNobody = report({ urls: [], perMinute: { delivered: 0, failed: 0 } });

const cases: readonly (readonly [what: string, state: string, evidence: Case])[] = [
  // Operators' decisions hold whoever reports.
  ['is paused, and no worker lives', 'paused', { configured: 'paused', isWatched: false }],
  ['is disabled', 'disabled', { configured: 'disabled', reports: [failed(60_000)] }],
  ['cannot be read', 'unreadable', { configured: 'unreadable' }],
  // Nobody can say.
  ['was well when the last worker went', 'unknown', { isWatched: false, past: delivered }],
  [
    'is spoken of by workers that cannot be heard',
    'unknown',
    { isWatched: false, reports: [report()] },
  ],
  ['is quiet, and nobody reads attempts', 'unknown', {}],
  [
    'waits for its first answer',
    'unknown',
    { reports: [{ ...ofNobody, inFlight: 1 }], past: neverAny },
  ],
  // Evidence that events arrive.
  ['has just delivered', 'ok', { reports: [report()] }],
  ['is quiet since a delivery', 'ok', { past: delivered }],
  ['never had an event', 'ok', { past: neverAny }],
  [
    'is mentioned with nothing waiting, and never had an event',
    'ok',
    { reports: [ofNobody], past: neverAny },
  ],
  // Workers' own states.
  ['fails', 'failing', { reports: [report({ state: 'failing' })] }],
  ['is held', 'held', { reports: [report({ state: 'held' })], givenUp: 50 }],
  ['is slow', 'slow', { reports: [report({ state: 'slow' })] }],
  // The first failure.
  ['failed one second ago', 'failing', { reports: [failed(1_000)] }],
  ['failed a moment ago, in the midst of others', 'ok', { reports: [failed(999)] }],
  ['refused its last event', 'losing', { reports: [refused(1_000)] }],
  [
    'failed one second ago at one of two URLs',
    'ok',
    {
      reports: [
        report({
          urls: [answered('failed', 1_000), { ...answered('delivered', 2_000), url: 'b' }],
        }),
      ],
    },
  ],
  [
    'failed with one worker, and delivered with another since',
    'ok',
    { reports: [failed(3_000), report({ worker: 'w2', urls: [answered('delivered', 1_000)] })] },
  ],
  [
    'delivered with one worker, and failed with another since',
    'failing',
    { reports: [failed(3_000), report({ worker: 'w2', urls: [answered('delivered', 4_000)] })] },
  ],
  // What attempts tell of one that no worker speaks of.
  [
    'refused everything, twenty minutes ago',
    'failing',
    { past: { ...bad(4_301, true, 20 * minuteMs), deliveredMs: undefined } },
  ],
  ['refused its last four events', 'losing', { past: bad(4, true, 20 * minuteMs) }],
  ['refused its last five events', 'failing', { past: bad(5, true, 20 * minuteMs) }],
  ['failed its last event, which nobody holds', 'failing', { past: bad(1, false, 20 * minuteMs) }],
  [
    'failed an event just now, in the midst of others',
    'ok',
    { reports: [report()], past: bad(1, false, 9_999) },
  ],
  [
    'delivered after the last failure that was read',
    'ok',
    { reports: [report()], past: bad(9, true, 30_000) },
  ],
  // A share of what is given up for good.
  [
    'refuses one event in five',
    'losing',
    {
      reports: [report()],
      givenUp: 20,
      past: { ...delivered, deliveredLately: 80, deliveredSinceLoss: 4 },
    },
  ],
  [
    'refuses one in a hundred',
    'losing',
    { reports: [report()], givenUp: 1, past: { ...delivered, deliveredLately: 99 } },
  ],
  [
    'refuses one in more than a hundred',
    'ok',
    { reports: [report()], givenUp: 1, past: { ...delivered, deliveredLately: 100 } },
  ],
  [
    'refused many, and has taken a hundred since',
    'ok',
    {
      reports: [report()],
      givenUp: 900,
      past: { ...delivered, deliveredLately: 100, deliveredSinceLoss: 100 },
    },
  ],
  ['has dead letters, and nobody reads attempts', 'losing', { givenUp: 1 }],
  [
    'is slow and refuses one in five',
    'losing',
    { reports: [report({ state: 'slow' })], givenUp: 200 },
  ],
  [
    'has refused one in five for three minutes, by the workers',
    'losing',
    { reports: [report()], givenUp: 6, justNow: 6 },
  ],
  [
    'has a dead letter among six hundred an hour, by the workers',
    'ok',
    { reports: [report()], givenUp: 1 },
  ],
];

describe('a destination that', () => {
  for (const [what, state, evidence] of cases)
    test(`${what}: ${state}`, () => {
      assert.equal(stateOf(evidence), state);
    });
});

test('trouble begins with the first failure, wherever that is known from', () => {
  const since = (evidence: Partial<Evidence>): string | undefined =>
    healthOf(
      {
        configured: 'enabled',
        isWatched: true,
        view: undefined,
        failure: undefined,
        past: undefined,
        givenUp: noneGivenUp,
        ...evidence,
      },
      nowMs,
    ).since;
  assert.equal(since({ failure: firstFailure([failed(4_000)]) }), at(4_000));
  assert.equal(since({ past: bad(7, true, 30 * minuteMs) }), at(30 * minuteMs));
});

const workerAt = (worker: string, agoMs: number): WorkerStatus =>
  ({ worker, at: at(agoMs) }) as WorkerStatus;

function judged(
  reports: readonly DestinationStatus[],
  workers: readonly WorkerStatus[],
): JudgedView {
  return judgedView(
    'crm',
    { workers, destinations: new Map([['crm', reports]]), heard: at(90_000) },
    {
      configured: 'enabled',
      past: neverAny,
      givenUp: noneGivenUp,
      pausedSince: at(2 * minuteMs),
      isHeard: true,
    },
    nowMs,
  );
}

test('what is known of a destination is as old as the oldest word of those that report on it', () => {
  const both = [workerAt('w1', 4_000), workerAt('w2', 7_000), workerAt('idle', 60_000)];
  const said = judged([report(), report({ worker: 'w2' })], both);
  assert.deepEqual([said.asOf, said.state], [at(7_000), 'ok']);
  assert.equal(said.perMinute.delivered, 20);
  const unheard = judged([], []);
  assert.deepEqual(
    [unheard.asOf, unheard.state, unheard.destination],
    [at(90_000), 'unknown', 'crm'],
  );
});

test('a paused destination is so since it was paused, and any other since its state began', () => {
  const known = {
    configured: 'paused',
    past: undefined,
    givenUp: noneGivenUp,
    isHeard: true,
  } as const;
  const said = { workers: [], destinations: new Map(), heard: undefined };
  const pausedSince = at(2 * minuteMs);
  assert.equal(judgedView('crm', said, { ...known, pausedSince }, nowMs).since, pausedSince);
  const failingSince = judged(
    [report({ state: 'failing', since: at(9_000) })],
    [workerAt('w1', 0)],
  );
  assert.equal(failingSince.since, at(9_000));
});

test('the worst comes first, of equal ones what lasts longest, then what has most to do, then the name', () => {
  const base = judged([report()], [workerAt('w1', 0)]);
  const failing = { ...base, state: 'failing' } as const;
  const waiting = { ...base.waiting, total: 5 };
  const inOrder: readonly JudgedView[] = [
    { ...failing, destination: 'long', since: at(9_000) },
    { ...failing, destination: 'short', since: at(1_000), waiting },
    { ...failing, destination: 'unsure', since: undefined },
    { ...base, destination: 'waits', waiting, since: at(1_000) },
    { ...base, destination: 'busy', perMinute: { delivered: 99, failed: 0 }, since: at(2_000) },
    { ...base, destination: 'a', since: at(3_000) },
    { ...base, destination: 'b', since: at(9_000) },
  ];
  const sorted = inOrder.toReversed().sort(byUrgency);
  assert.deepEqual(
    sorted.map(({ destination }) => destination),
    inOrder.map(({ destination }) => destination),
  );
});
