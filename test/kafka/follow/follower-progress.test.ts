import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FollowerProgress } from '../../../src/kafka/follow/follower-progress.ts';

/** Of a topic with so many partitions, all read to their ends and asked about at time 0. */
function upToDate(partitions: number = 1): FollowerProgress {
  const progress = new FollowerProgress(2_000);
  progress.refreshed(partitions, 0);
  for (let partition = 0; partition < partitions; partition += 1) progress.reached(partition, 0, 0);
  return progress;
}

/** Whether it has resolved by now. */
async function isMet(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), Promise.resolve().then(() => false)]);
}

test('a follower is fresh for as long as it may be after it asked for the end that it has reached', () => {
  const progress = upToDate();
  assert.equal(progress.isFresh(2_000), true);
  assert.equal(progress.isFresh(2_001), false);
  progress.refreshed(1, 1_000);
  progress.reached(0, 0, 1_500);
  assert.equal(progress.isFresh(3_000), true);
  assert.equal(progress.isFresh(3_001), false);
});

test('one that knows nothing yet is not fresh, and neither is one that has reached no end', () => {
  const progress = new FollowerProgress(2_000);
  assert.equal(progress.isFresh(0), false);
  progress.refreshed(1, 0);
  assert.equal(progress.isFresh(0), false);
  progress.reached(0, 0, 0);
  assert.equal(progress.isFresh(0), true);
});

test('ends alone are not enough: the topic may have got more partitions', () => {
  const progress = upToDate();
  progress.reached(0, 0, 5_000);
  assert.equal(progress.isFresh(5_000), false);
  progress.refreshed(1, 4_000);
  assert.equal(progress.isFresh(5_000), true);
});

test('all partitions must have reached their ends, those that were added too', () => {
  const progress = upToDate(2);
  progress.refreshed(3, 1_000);
  assert.equal(progress.isFresh(1_000), false);
  progress.reached(2, 0, 1_000);
  assert.equal(progress.isFresh(1_000), true);
});

test('one partition that is read no further makes all of it old', () => {
  const progress = upToDate(2);
  for (let nowMs = 1_000; nowMs <= 3_000; nowMs += 1_000) {
    progress.refreshed(2, nowMs);
    progress.reached(0, 0, nowMs);
  }
  assert.equal(progress.isFresh(3_000), false);
});

test('only what is asked afterwards shows that a follower has caught up', async () => {
  const progress = upToDate(2);
  const caughtUp = progress.caughtUpWith(100);
  for (const partition of [0, 1]) progress.reached(partition, 0, 99);
  progress.refreshed(2, 100);
  assert.equal(await isMet(caughtUp), false);
  progress.reached(0, 0, 100);
  assert.equal(await isMet(caughtUp), false);
  progress.reached(1, 0, 150);
  assert.equal(await isMet(caughtUp), true);
  assert.deepEqual([progress.isAwaited(0), progress.isAwaited(1)], [false, false]);
});

test('nobody waits for a partition that has said what was asked for, however long another one takes', () => {
  const progress = upToDate(2);
  void progress.caughtUpWith(100);
  assert.deepEqual([progress.isAwaited(0), progress.isAwaited(1)], [true, true]);
  progress.reached(0, 0, 100);
  assert.deepEqual([progress.isAwaited(0), progress.isAwaited(1)], [false, true]);
});

test('a partition that appears while somebody waits has to be read too', async () => {
  const progress = upToDate(1);
  const caughtUp = progress.caughtUpWith(100);
  progress.reached(0, 0, 100);
  progress.refreshed(2, 100);
  assert.equal(await isMet(caughtUp), false);
  progress.reached(1, 0, 120);
  assert.equal(await isMet(caughtUp), true);
});

test('each waits for what it asked for', async () => {
  const progress = upToDate();
  const [early, late] = [progress.caughtUpWith(100), progress.caughtUpWith(200)];
  progress.refreshed(1, 300);
  progress.reached(0, 0, 150);
  assert.deepEqual([await isMet(early), await isMet(late)], [true, false]);
  progress.reached(0, 0, 200);
  assert.equal(await isMet(late), true);
});

test('who reads anew from the beginning knows nothing, and who waits still does', async () => {
  const progress = upToDate(2);
  const caughtUp = progress.caughtUpWith(100);
  progress.restart();
  assert.equal(progress.isFresh(0), false);
  progress.refreshed(1, 200);
  assert.equal(await isMet(caughtUp), false);
  progress.reached(0, 0, 200);
  assert.equal(await isMet(caughtUp), true);
  assert.equal(progress.isFresh(200), true);
});

test('who waits when it ends, and who asks afterwards, is told why', async () => {
  const progress = upToDate();
  const waiting = progress.caughtUpWith(100);
  progress.end(new Error('stopped'));
  progress.end(new Error('again'));
  await assert.rejects(waiting, /^Error: stopped$/);
  await assert.rejects(progress.caughtUpWith(100), /^Error: stopped$/);
});

describe('where leaders must be confirmed', () => {
  const confirmable = (): FollowerProgress => {
    const progress = new FollowerProgress(2_000, true);
    progress.refreshed(1, 0);
    return progress;
  };

  test('an end counts once another broker has said that its leader leads, as of the older of both answers', () => {
    const progress = confirmable();
    progress.reached(0, 5, 0);
    assert.equal(progress.isFresh(0), false);
    progress.confirmed(0, 5, 0);
    assert.equal(progress.isFresh(0), true);
    progress.refreshed(1, 3_000);
    progress.reached(0, 5, 3_000);
    assert.equal(progress.isFresh(3_000), false);
    progress.confirmed(0, 5, 1_500);
    assert.equal(progress.isFresh(3_500), true);
    assert.equal(progress.isFresh(3_501), false);
  });

  test('the end of a former leader says nothing of a later one', () => {
    const progress = confirmable();
    progress.confirmed(0, 6, 0);
    progress.reached(0, 5, 0);
    assert.equal(progress.isFresh(0), false);
    progress.reached(0, 6, 0);
    assert.equal(progress.isFresh(0), true);
  });

  test('what was known before a leader was replaced still holds for its time', () => {
    const progress = confirmable();
    progress.reached(0, 5, 1_000);
    progress.confirmed(0, 5, 1_000);
    progress.refreshed(1, 1_500);
    progress.confirmed(0, 6, 1_500);
    assert.equal(progress.isFresh(3_000), true);
    assert.equal(progress.isFresh(3_001), false);
  });

  test('a slow witness, or one who has not heard of a new leader, takes nothing back', () => {
    const progress = confirmable();
    progress.refreshed(1, 2_000);
    progress.reached(0, 6, 2_000);
    progress.confirmed(0, 6, 2_000);
    progress.confirmed(0, 6, 0);
    progress.confirmed(0, 5, 2_000);
    progress.reached(0, 6, 2_000);
    assert.equal(progress.isFresh(4_000), true);
  });
});
