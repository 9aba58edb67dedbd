import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBehind, LiveTraffic, type Traffic } from '../../src/dead-letter/live-traffic.ts';
import { PostriderError } from '../../src/errors.ts';
import { WaitingClock } from './waiting-clock.ts';

const before: Traffic = { atMs: 0, end: 10_000, finished: 10_000 };

/** After two seconds in which so many were written and finished, with so many that waited before. */
function after(written: number, finished: number, waited: number = 0): [Traffic, Traffic] {
  const start = { ...before, finished: before.end - waited };
  return [start, { atMs: 2_000, end: start.end + written, finished: start.finished + finished }];
}

test('workers that keep up are not behind, however much there is', () => {
  assert.equal(isBehind(...after(20_000, 20_000, 5_000), 0), false);
});

test('a few hundred records that are not finished yet are not behind', () => {
  assert.equal(isBehind(...after(1_000, 0), 0), false);
});

test('more than the workers finish in ten seconds is behind, if others write too', () => {
  assert.equal(isBehind(...after(4_000, 2_000, 9_000), 0), true);
  assert.equal(isBehind(...after(4_000, 2_000, 7_000), 0), false);
});

test('a backlog to which only the redrive adds delays nobody', () => {
  assert.equal(isBehind(...after(300, 0, 50_000), 300), false);
  assert.equal(isBehind(...after(300, 0, 50_000), 290), true);
});

type Way = 'shared' | 'dedicated';

function watch(looks: readonly (Traffic | Error)[]): {
  readonly live: LiveTraffic<Way>;
  readonly clock: WaitingClock;
  readonly changes: [number, boolean][];
} {
  const clock = new WaitingClock();
  const changes: [number, boolean][] = [];
  const left = [...looks];
  const live = new LiveTraffic<Way>({
    isShared: (way) => way === 'shared',
    clock,
    look: () => {
      const next = left.shift() ?? assert.fail('looked too often');
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
    onChange: (isWaiting) => changes.push([clock.steadyNow(), isWaiting]),
  });
  return { live, clock, changes };
}

const [, far] = after(10_000, 0);
const { signal } = new AbortController();
const settled = (): Promise<void> => Promise.resolve();

test('a redrive waits while live traffic is behind, and says when that begins and ends', async () => {
  const caughtUp = { atMs: 0, end: 30_000, finished: 30_000 };
  const { live, clock, changes } = watch([before, far, { ...far, end: 25_000 }, caughtUp]);
  await live.giveWay('shared', signal, settled);
  clock.nowMs = 2_000;
  await live.giveWay('shared', signal, settled);
  assert.deepEqual(changes, [
    [2_000, true],
    [6_000, false],
  ]);
});

test('a clock that is set back meanwhile makes a redrive wait no longer', async () => {
  const caughtUp = { atMs: 0, end: 30_000, finished: 30_000 };
  const { live, clock, changes } = watch([before, far, caughtUp]);
  await live.giveWay('shared', signal, settled);
  clock.nowMs = 2_000;
  const waiting = live.giveWay('shared', signal, settled);
  clock.setMs = -60_000;
  await waiting;
  assert.deepEqual(changes, [
    [2_000, true],
    [4_000, false],
  ]);
});

test('between two looks nothing is asked', async () => {
  const { live, clock } = watch([before]);
  for (clock.nowMs = 0; clock.nowMs < 2_000; clock.nowMs += 10)
    await live.giveWay('shared', signal, settled);
});

test('while Kafka is away a redrive waits too; any other error ends it', async () => {
  const away = new PostriderError('kafka-unavailable', 'away');
  const { live, clock, changes } = watch([before, away, before, new Error('defect')]);
  await live.giveWay('shared', signal, settled);
  clock.nowMs = 2_000;
  await live.giveWay('shared', signal, settled);
  assert.deepEqual(changes, [
    [2_000, true],
    [4_000, false],
  ]);
  clock.nowMs = 6_000;
  await assert.rejects(live.giveWay('shared', signal, settled), /defect/);
});

test('a redrive that is told to stop waits no longer', async () => {
  const stop = new AbortController();
  const { live, clock } = watch([before, far]);
  await live.giveWay('shared', stop.signal, settled);
  clock.nowMs = 2_000;
  const waiting = live.giveWay('shared', stop.signal, settled);
  stop.abort();
  await waiting;
});

test('what goes to other topics hides no live traffic, and does not wait for it', async () => {
  const caughtUp = { atMs: 0, end: 30_000, finished: 30_000 };
  const { live, clock, changes } = watch([before, far, caughtUp]);
  await live.giveWay('shared', signal, settled);
  for (let written = 0; written < 10_000; written += 1) {
    await live.giveWay('dedicated', signal, settled);
    live.wrote('dedicated');
  }
  clock.nowMs = 2_000;
  await live.giveWay('dedicated', signal, settled);
  assert.deepEqual(changes, []);
  await live.giveWay('shared', signal, settled);
  assert.deepEqual(changes, [
    [2_000, true],
    [4_000, false],
  ]);
});

test('what a redrive writes to the topic itself is no live traffic', async () => {
  const { live, clock, changes } = watch([before, far]);
  await live.giveWay('shared', signal, settled);
  for (let written = 0; written < 10_000; written += 1) live.wrote('shared');
  clock.nowMs = 2_000;
  await live.giveWay('shared', signal, settled);
  assert.deepEqual(changes, []);
});

test('what a redrive has on its way is waited for before a look, and counts as its own', async () => {
  const { live, clock, changes } = watch([before, far]);
  await live.giveWay('shared', signal, settled);
  clock.nowMs = 2_000;
  await live.giveWay('shared', signal, () => {
    for (let written = 0; written < 10_000; written += 1) live.wrote('shared');
    return Promise.resolve();
  });
  assert.deepEqual(changes, []);
});
