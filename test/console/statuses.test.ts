import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Statuses } from '../../src/console/index/live-state.ts';

const minuteMs = 60_000;

function put(statuses: Statuses, worker: string, nowMs: number): void {
  const at = new Date(nowMs).toISOString();
  statuses.put(`/${worker}`, Buffer.from(JSON.stringify({ kind: 'worker', worker, at })));
}

test('what killed workers have said takes no memory after an hour, whether or not anybody looks', () => {
  let nowMs = Date.UTC(2026, 0, 31);
  const statuses = new Statuses({ now: () => nowMs });
  for (let killed = 0; killed < 1_000; killed += 1) {
    put(statuses, `killed-${killed}`, nowMs);
    nowMs += minuteMs;
  }
  assert.ok(statuses.size <= 62, `${statuses.size} statuses`);
  nowMs += 61 * minuteMs;
  put(statuses, 'alive', nowMs);
  assert.equal(statuses.size, 1);
  assert.deepEqual(
    statuses.all().map(({ worker }) => worker),
    ['alive'],
  );
});

test('what a worker takes back is gone', () => {
  const statuses = new Statuses({ now: () => 0 });
  put(statuses, 'w1', 0);
  put(statuses, 'w2', 0);
  statuses.put('/w1', null);
  statuses.put('/w2', Buffer.from('no JSON'));
  assert.deepEqual(statuses.all(), []);
});
