import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FollowerProgress } from '../../../src/kafka/follow/follower-progress.ts';

/** One partition whose kept offsets go from `earliest` to before `end`. */
function upTo(end: number, earliest: number = 0) {
  return new Map([[0, { earliest, end }]]);
}

function ask(progress: FollowerProgress, end: number, now: number): void {
  progress.answered(progress.beginAsk(now).askId, upTo(end), now);
}

/** Whether it has resolved by now. */
async function isReached(reached: Promise<void>): Promise<boolean> {
  return Promise.race([reached.then(() => true), Promise.resolve().then(() => false)]);
}

test('a follower is fresh for two seconds after an end that it has reached', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 10, 0);
  ask(progress, 10, 1_000);
  assert.equal(progress.isFresh(3_000), true);
  assert.equal(progress.isFresh(3_001), false);
});

test('an answer that took long is as old as its question', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 10, 0);
  progress.answered(progress.beginAsk(1_000).askId, upTo(10), 2_500);
  assert.equal(progress.isFresh(3_000), true);
  assert.equal(progress.isFresh(3_001), false);
});

test('a clock that is set back makes no follower fresh for longer', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 10, 0);
  ask(progress, 10, 3_600_000);
  assert.equal(progress.isFresh(0), false);
  ask(progress, 10, 1_000);
  assert.equal(progress.isFresh(1_000), true);
});

test('a follower that has not reached the end is not fresh until it has', () => {
  const progress = new FollowerProgress(0);
  ask(progress, 10, 0);
  assert.equal(progress.isFresh(0), false);
  progress.moved(0, 9, 100);
  assert.equal(progress.isFresh(100), false);
  progress.moved(0, 10, 200);
  assert.equal(progress.isFresh(200), true);
});

test('reaching an end late makes it no fresher than it is', () => {
  const progress = new FollowerProgress(0);
  ask(progress, 10, 0);
  progress.moved(0, 10, 5_000);
  assert.equal(progress.isFresh(5_000), false);
});

test('an empty topic is read to its end', () => {
  const progress = new FollowerProgress(0);
  progress.answered(progress.beginAsk(0).askId, upTo(5, 5), 0);
  assert.equal(progress.isFresh(0), true);
});

test('all partitions must reach their ends', () => {
  const progress = new FollowerProgress(0);
  const both = new Map([...upTo(3), [1, { earliest: 0, end: 3 }] as const]);
  progress.answered(progress.beginAsk(0).askId, both, 0);
  progress.moved(0, 3, 0);
  assert.equal(progress.isFresh(0), false);
  progress.moved(1, 3, 0);
  assert.equal(progress.isFresh(0), true);
});

test('only a question that is asked afterwards shows that a follower has caught up', async () => {
  const progress = new FollowerProgress(0);
  const early = progress.beginAsk(0).askId;
  const reached = progress.reached();
  progress.answered(early, upTo(0), 0);
  assert.equal(await isReached(reached), false);
  ask(progress, 0, 0);
  assert.equal(await isReached(reached), true);
});

test('while records keep coming, an older end that was reached still counts', async () => {
  const progress = new FollowerProgress(0);
  const reached = progress.reached();
  ask(progress, 10, 0);
  ask(progress, 20, 1_000);
  progress.moved(0, 15, 1_500);
  assert.equal(progress.isFresh(1_500), true);
  assert.equal(await isReached(reached), true);
});

test('the position never goes back', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 10, 0);
  progress.moved(0, 4, 0);
  assert.equal(progress.position(0), 10);
});

function fetchInVain(progress: FollowerProgress, nodeId: number, now: number): void {
  for (let i = 0; i < 10; i += 1) progress.fetching(nodeId, now);
}

test('where only emptied batches remain, the end counts as reached after two quiet seconds', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 6, 0);
  ask(progress, 10, 100);
  fetchInVain(progress, 1, 1_000);
  ask(progress, 10, 1_900);
  assert.equal(progress.isFresh(1_900), false);
  ask(progress, 10, 2_100);
  assert.equal(progress.isFresh(2_100), true);
  assert.equal(progress.position(0), 10);
});

test('a clock that is set back makes quiet take no longer', () => {
  const progress = new FollowerProgress(3_600_000);
  progress.moved(0, 6, 3_600_000);
  ask(progress, 10, 3_600_100);
  fetchInVain(progress, 1, 3_600_200);
  ask(progress, 10, 0);
  fetchInVain(progress, 1, 1_000);
  ask(progress, 10, 1_900);
  assert.equal(progress.isFresh(1_900), false);
  ask(progress, 10, 2_100);
  assert.equal(progress.isFresh(2_100), true);
});

test('quiet says nothing unless every broker was asked for records and has answered', () => {
  const progress = new FollowerProgress(0);
  progress.fetching(1, 0);
  progress.fetching(2, 0);
  progress.moved(0, 6, 0);
  ask(progress, 10, 100);
  fetchInVain(progress, 1, 2_000);
  ask(progress, 10, 3_000);
  assert.equal(progress.isFresh(3_000), false);
  fetchInVain(progress, 2, 3_500);
  ask(progress, 10, 3_600);
  assert.equal(progress.isFresh(3_600), true);
});

test('quiet says nothing right after a rejoin or before the first fetch', () => {
  const progress = new FollowerProgress(0);
  ask(progress, 10, 0);
  ask(progress, 10, 5_000);
  assert.equal(progress.isFresh(5_000), false);
  fetchInVain(progress, 1, 5_000);
  progress.stirred(6_000);
  ask(progress, 10, 9_000);
  assert.equal(progress.isFresh(9_000), false);
});

test('quiet says nothing while the consumer does not fetch, however often it did before', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 6, 0);
  fetchInVain(progress, 1, 1_000);
  // Kafka was away and is back; the consumer has not joined again, and four records are new.
  ask(progress, 10, 20_000);
  ask(progress, 10, 23_000);
  assert.equal(progress.isFresh(23_000), false);
  assert.equal(progress.position(0), 6);
});

test('a few fetches that fail without a word are no sign of quiet', () => {
  const progress = new FollowerProgress(0);
  ask(progress, 10, 0);
  for (let i = 0; i < 9; i += 1) progress.fetching(1, 100);
  ask(progress, 10, 3_000);
  assert.equal(progress.isFresh(3_000), false);
});

test('a topic that ends before the position twice in a row was made again', () => {
  const progress = new FollowerProgress(0);
  const position = new Map([[0, 10]]);
  assert.equal(progress.hasShrunk(position, upTo(9)), false);
  assert.equal(progress.hasShrunk(position, upTo(10)), false);
  assert.equal(progress.hasShrunk(position, upTo(9)), false);
  assert.equal(progress.hasShrunk(position, upTo(9)), true);
});

test('after a restart the follower is at the beginning and not fresh', () => {
  const progress = new FollowerProgress(0);
  progress.moved(0, 10, 0);
  ask(progress, 10, 0);
  progress.restart(upTo(5, 2), 100);
  assert.equal(progress.position(0), 2);
  assert.equal(progress.isFresh(100), false);
});
