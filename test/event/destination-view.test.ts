import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  DestinationStatus,
  StatusRecord,
  UrlStatus,
  WorkerStatus,
} from '../../src/event/destination-status.ts';
import { viewOf, unseen, type DestinationView } from '../../src/event/destination-view.ts';
import {
  byUrgency,
  type JudgedView,
  type DestinationHealth,
} from '../../src/event/destination-health.ts';
import { saidNow } from '../../src/status/read-status.ts';

const nowMs = Date.UTC(2026, 0, 1);

function at(offsetMs: number): string {
  return new Date(nowMs + offsetMs).toISOString();
}

const url: UrlStatus = {
  url: 'https://crm.example/',
  breaker: 'closed',
  lastAnswer: { at: at(-1_000), outcome: 'delivered', status: 200 },
};

function said(worker: string, more: Partial<DestinationStatus> = {}): DestinationStatus {
  return {
    kind: 'destination',
    worker,
    at: at(-2_000),
    destination: 'crm',
    state: 'ok',
    urls: [url],
    waiting: { here: 0, tiers: {} },
    inFlight: 0,
    perMinute: { delivered: 0, failed: 0 },
    ...more,
  };
}

function worker(name: string, expiresInMs: number): WorkerStatus {
  return {
    kind: 'worker',
    worker: name,
    at: at(0),
    expiresAt: at(expiresInMs),
    startedAt: at(0),
    inFlight: 0,
    queued: 0,
    isCutOff: false,
    topics: {},
  };
}

describe('what several workers say of a destination', () => {
  test('is the worst of it, since the first of those saw it', () => {
    const view = viewOf('crm', [
      said('a'),
      said('b', { state: 'failing', since: at(-60_000), until: at(9_000) }),
      said('c', { state: 'failing', since: at(-90_000), until: at(5_000) }),
      said('d', { state: 'slow', since: at(-900_000) }),
    ]);
    assert.equal(view.state, 'failing');
    assert.equal(view.since, at(-90_000));
    assert.equal(view.until, at(5_000));
  });

  test('adds up what waits, tier by tier, with the oldest and the first deadline of all', () => {
    const view = viewOf('crm', [
      said('a', {
        waiting: {
          here: 3,
          tiers: { '10s': 5 },
          due: { '10s': { from: at(1_000), until: at(4_000) } },
        },
        perMinute: { delivered: 1.5, failed: 2 },
        oldest: at(-5_000),
      }),
      said('b', {
        waiting: {
          here: 1,
          tiers: { '10s': 2, '1h': 7, '1m': 1 },
          due: {
            '10s': { from: at(2_000), until: at(9_000) },
            '1h': { from: at(60_000), until: at(900_000) },
          },
        },
        perMinute: { delivered: 10, failed: 0 },
        oldest: at(-7_000),
        deadline: at(1_000),
        p50Ms: 20,
        p99Ms: 40,
      }),
    ]);
    assert.deepEqual(view.waiting, {
      total: 19,
      here: 4,
      tiers: { '10s': 7, '1h': 7, '1m': 1 },
      // A worker of a former release does not say when its events are due.
      due: {
        '10s': { from: at(1_000), until: at(9_000) },
        '1h': { from: at(60_000), until: at(900_000) },
      },
    });
    assert.deepEqual(view.perMinute, { delivered: 11.5, failed: 2 });
    assert.deepEqual([view.oldest, view.deadline], [at(-7_000), at(1_000)]);
    assert.deepEqual([view.p50Ms, view.p99Ms], [20, 40]);
  });

  test('tells why a URL fails, though another worker got a better answer from it later', () => {
    const failing: UrlStatus = {
      ...url,
      breaker: 'open',
      lastAnswer: { at: at(-9_000), outcome: 'failed', status: 500, detail: 'answered 500' },
    };
    for (const order of [
      [url, failing],
      [failing, url],
    ]) {
      const view = viewOf(
        'crm',
        order.map((each, n) => said(`w${n}`, { urls: [each] })),
      );
      assert.deepEqual(view.urls, [failing]);
      assert.equal(view.lastAnswer?.status, 500);
    }
  });

  test('counts as long as the worker lives, and not a moment longer', () => {
    const records: StatusRecord[] = [
      worker('a', 1),
      worker('b', 0),
      said('a'),
      said('b', { state: 'failing' }),
      said('never-heard-of', { state: 'failing' }),
    ];
    const { workers, destinations, heard } = saidNow(records, nowMs);
    assert.equal(heard, at(0));
    assert.deepEqual(
      workers.map((each) => each.worker),
      ['a'],
    );
    assert.deepEqual(
      destinations.get('crm')?.map((each) => each.worker),
      ['a'],
    );
  });
});

test('destinations come in the order in which somebody should look at them', () => {
  const judged = (view: DestinationView, state: DestinationHealth = view.state): JudgedView => ({
    ...view,
    state,
    asOf: undefined,
  });
  const views = [
    unseen('nothing-comes'),
    viewOf('busy', [said('a', { perMinute: { delivered: 50, failed: 0 } })]),
    viewOf('lately', [said('a', { state: 'failing', since: at(-1_000) })]),
    viewOf('slow', [said('a', { state: 'slow', since: at(-999_000) })]),
    viewOf('long', [said('a', { state: 'failing', since: at(-9_000) })]),
    viewOf('held', [said('a', { state: 'held', since: at(-99_000) })]),
    viewOf('behind', [said('a', { waiting: { here: 1, tiers: {} } })]),
  ].map((view) => judged(view));
  for (const [id, state] of [
    ['off', 'disabled'],
    ['nobody-knows', 'unknown'],
    ['loses', 'losing'],
  ] as const)
    views.push(judged(unseen(id), state));
  const order = views.sort(byUrgency).map(({ destination }) => destination);
  assert.deepEqual(order, [
    'long',
    'lately',
    'held',
    'loses',
    'slow',
    'nobody-knows',
    'off',
    'behind',
    'busy',
    'nothing-comes',
  ]);
});
