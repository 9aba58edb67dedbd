import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccess } from '../../src/console/access/access.ts';
import { decodeCursor, encodeCursor } from '../../src/console/api/cursor.ts';
import { countStates, pageOf, viewsOf } from '../../src/console/api/destinations.ts';
import { behindOf } from '../../src/console/api/flow.ts';
import { seriesOf } from '../../src/console/api/series.ts';
import { firstStep } from '../../src/console/index/series-query.ts';

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

test('destinations nobody speaks of are shown as configured', () => {
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
  } as unknown as Parameters<typeof viewsOf>[0];
  const views = viewsOf(live, { workers: [], destinations: new Map() });
  const states = views.map(({ destination: id, state }) => `${id} ${state}`);
  assert.deepEqual(states, ['d unreadable', 'c paused', 'b disabled', 'a ok']);
  assert.equal(countStates(views).paused, 1);
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
  const access = openAccess();
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
