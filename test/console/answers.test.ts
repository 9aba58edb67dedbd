import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Past } from '../../src/event/destination-health.ts';
import type { WorkerStatus } from '../../src/event/destination-status.ts';
import { unseen } from '../../src/event/destination-view.ts';
import { openAccess } from '../../src/console/access/access.ts';
import {
  countStates,
  detailOf,
  judgedViews,
  overviewOf,
  pageOf,
} from '../../src/console/api/destinations.ts';
import { concernsOf, datedAt, type Times } from '../../src/console/api/freshness.ts';
import { behindOf } from '../../src/console/api/flow.ts';
import { seriesOf } from '../../src/console/api/series.ts';
import { Pasts } from '../../src/console/index/pasts.ts';
import { firstStep } from '../../src/console/index/series-query.ts';
import { decodeCursor, encodeCursor } from '../../src/http-api/cursor.ts';
import { exampleDestination } from '../resources/examples.ts';

const nowMs = Date.UTC(2026, 0, 31, 12, 0, 30);

test('a page goes on behind the last one, also when that has moved or gone', () => {
  const all = ['a', 'b', 'c', 'd', 'e'].map((destination) => ({ destination }));
  const first = pageOf(all, undefined, 2);
  assert.deepEqual(first.next, ['b', 1]);
  assert.deepEqual(pageOf(all, first.next, 2).items, all.slice(2, 4));
  assert.deepEqual(pageOf(all.toReversed(), ['b', 1], 9).items, [{ destination: 'a' }]);
  assert.deepEqual(pageOf(all, ['gone', 2], 9).items, all.slice(3));
  assert.equal(pageOf(all, ['c', 2], 2).next, undefined);
});

test('a cursor of another list is refused', () => {
  const cursor = encodeCursor(['crm', 3]);
  assert.deepEqual(decodeCursor(cursor, 'string', 'number'), ['crm', 3]);
  for (const bad of ['x', encodeCursor([3, 'crm']), encodeCursor([]), encodeCursor(['a', 1.5])])
    assert.throws(() => decodeCursor(bad, 'string', 'number'), /cursor is not one of this list/);
});

test('destinations nobody speaks of are shown as configured, and as their attempts tell', () => {
  const destination = (id: string, enabled: boolean): object => ({
    kind: 'Destination',
    id,
    enabled,
  });
  const live = {
    resources: new Map([
      ['Destination/a', destination('a', true)],
      ['Destination/b', destination('b', false)],
      ['Destination/c', destination('c', true)],
    ]),
    unreadable: new Map([['Destination/d', 'no version']]),
    pauses: {
      get: ({ id }: { readonly id: string }) =>
        id === 'c' ? { since: '2026-01-31T00:00:00Z' } : undefined,
    },
  } as unknown as Parameters<typeof judgedViews>[0];
  const worker = { worker: 'w1', at: new Date(nowMs).toISOString() } as WorkerStatus;
  const said = { workers: [worker], destinations: new Map(), heard: worker.at };
  const nothingYet = new Pasts().of(undefined, 0);
  const viewsWith = (past: Past | undefined, workers = said.workers, isHeard = true) =>
    judgedViews(
      live,
      { ...said, workers },
      { past: () => past, givenUp: () => 0 },
      { isHeard, nowMs },
    );
  const views = viewsWith(nothingYet);
  const states = views.map(({ destination: id, state }) => `${id} ${state}`);
  assert.deepEqual(states, ['d unreadable', 'c paused', 'b disabled', 'a ok']);
  assert.equal(countStates(views).paused, 1);
  for (const others of [
    viewsWith(undefined),
    viewsWith(nothingYet, []),
    viewsWith(nothingYet, said.workers, false),
  ]) {
    assert.equal(countStates(others).ok, 0);
    assert.equal(countStates(others).unknown, 1);
  }
  assert.deepEqual(
    [overviewOf(views).total, overviewOf(views).getNothing, overviewOf(views).byOtherUrl],
    [4, 1, 0],
  );
});

test('a destination says until when a former secret signs, and shows none', () => {
  const formerSecrets = [{ secret: 'f0rmer', untilMs: nowMs + 1_000 }];
  const crm = exampleDestination({ signature: 'standard', formerSecrets });
  const live = {
    resources: new Map([['Destination/crm', crm]]),
    pauses: { get: () => undefined, resumedSince: () => undefined },
    identityOf: () => crm,
  } as unknown as Parameters<typeof detailOf>[2];
  const row = { id: 'crm' } as unknown as Parameters<typeof detailOf>[0];
  const view = { ...unseen('crm'), asOf: undefined };
  const during = detailOf(row, view, live, 0, nowMs);
  assert.equal(during.formerSecretUntil, '2026-01-31T12:00:31.000Z');
  assert.doesNotMatch(JSON.stringify(during), /f0rmer/);
  assert.ok(!('formerSecretUntil' in detailOf(row, view, live, 0, nowMs + 1_000)));
});

test('a destination says where its owner is told about it, without the query, which may have a token', () => {
  const detailWith = (notify: { readonly url: string } | undefined) => {
    const crm = exampleDestination(notify && { notify });
    const live = {
      resources: new Map([['Destination/crm', crm]]),
      pauses: { get: () => undefined, resumedSince: () => undefined },
      identityOf: () => crm,
    } as unknown as Parameters<typeof detailOf>[2];
    const row = { id: 'crm' } as unknown as Parameters<typeof detailOf>[0];
    return detailOf(row, { ...unseen('crm'), asOf: undefined }, live, 0, nowMs);
  };
  const { notify } = detailWith({ url: 'https://acme.example/notices?token=t0ken' });
  assert.equal(notify, 'https://acme.example/notices');
  assert.ok(!('notify' in detailWith(undefined)));
});

test('bands join steps that came to the same', () => {
  const first = firstStep('1h', nowMs);
  const counted = (step: number, what: number, count: number) => ({
    step: first + step,
    url: 'https://a.example/',
    what,
    latencyClass: 3,
    count,
  });
  const all = [counted(0, 0, 2), counted(1, 0, 1), counted(2, 1, 4), counted(5, 2, 1)];
  const { points, urls, stepS } = seriesOf(all, [], '1h', nowMs);
  assert.deepEqual([points.length, stepS, points[0]?.delivered], [60, 60, 2]);
  assert.equal(points[5]?.refused, 1);
  assert.deepEqual(
    urls[0]?.bands.map(({ from, to, delivered, failed }) => [
      (Date.parse(to) - Date.parse(from)) / 60_000,
      delivered,
      failed,
    ]),
    [
      [2, 3, 0],
      [1, 0, 4],
      [1, 0, 1],
    ],
  );
});

const seen = { liveMs: nowMs - 1_500, indexMs: nowMs - 2_000, heardMs: nowMs - 5_000, workers: 2 };

test('what keeps pages from being right is told, the cause and not its consequences', () => {
  const kinds = (times: Partial<Times>): readonly string[] =>
    concernsOf({ ...seen, ...times }, nowMs).map(({ kind }) => kind);
  assert.deepEqual(kinds({}), []);
  assert.deepEqual(kinds({ liveMs: nowMs - 6_000, workers: 0, indexMs: 0 }), ['kafka-away']);
  assert.deepEqual(kinds({ workers: 0 }), ['no-worker']);
  assert.deepEqual(kinds({ workers: 0, heardMs: undefined }), ['no-worker']);
  assert.deepEqual(kinds({ heardMs: nowMs - 12_000 }), ['reports-old']);
  assert.deepEqual(kinds({ indexMs: nowMs - 10_000 }), ['index-behind']);
  assert.deepEqual(kinds({ indexMs: undefined, workers: 0 }), ['no-worker', 'index-behind']);
  const [away] = concernsOf({ ...seen, liveMs: nowMs - 60_000 }, nowMs);
  assert.equal(away?.since, new Date(nowMs - 60_000).toISOString());
});

test('an answer is as old as the older of its sources, and says so in words once that is long', () => {
  assert.deepEqual(datedAt(seen, nowMs), { asOf: new Date(nowMs - 2_000).toISOString() });
  const { asOf, old } = datedAt({ ...seen, liveMs: nowMs - 10_000 }, nowMs);
  assert.equal(asOf, new Date(nowMs - 10_000).toISOString());
  assert.match(old ?? '', /nothing that happened after 2026-01-31T12:00:20/);
  assert.match(datedAt({ ...seen, indexMs: undefined }, nowMs).old ?? '', /still being read/);
});

test('the stage that is behind is the one whose oldest record is oldest', () => {
  const of = (stage: 'router' | 'delivery' | 'retry', agoS: number) => ({
    stage,
    topic: stage,
    records: 1,
    oldest: new Date(nowMs - agoS * 1_000).toISOString(),
  });
  assert.equal(behindOf([of('router', 5), of('delivery', 20), of('retry', 900)], nowMs), undefined);
  assert.equal(behindOf([of('router', 40), of('delivery', 90)], nowMs), 'delivery');
});

test('without log-in only names of loopback are answered', () => {
  const access = openAccess({ passesOn: false });
  for (const host of ['localhost', 'LOCALHOST:8081', '127.0.0.1:8081', '[::1]:8081'])
    assert.ok(access.allowsHost(host), host);
  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.nip.io:80',
  ])
    assert.ok(!access.allowsHost(host), host);
});
