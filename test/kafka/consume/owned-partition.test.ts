import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { OffsetTracker } from '../../../src/kafka/consume/offset-tracker.ts';
import {
  Account,
  OwnedPartition,
  Redeliveries,
} from '../../../src/kafka/consume/owned-partition.ts';

/** Read up to offset 100 of 1,100, the last record of which was appended at 1,000. */
function behind(): OwnedPartition {
  const owned = new OwnedPartition({ topic: 't', partition: 0 }, { records: 10, bytes: 1_000 });
  owned.highWatermark = 1_100;
  owned.account = new Account(99, 99);
  owned.account.add(99, 0, 1, 1_000);
  return owned;
}

test('as many records as are not read are taken to have come evenly since the last one that was', () => {
  assert.equal(behind().unreadBefore(1_500, 2_000), 500);
  assert.equal(behind().unreadBefore(1_900, 2_000), 900);
});

test('nothing is older than the last record that was read', () => {
  assert.equal(behind().unreadBefore(1_000, 1_000), 0);
  assert.equal(behind().unreadBefore(500, 2_000), 0);
});

test('where all was read nothing is unread, also where the end that is known is older', () => {
  const owned = behind();
  for (const end of [100, 90]) {
    owned.highWatermark = end;
    assert.equal(owned.unreadBefore(1_500, 2_000), 0);
  }
});

test('of a partition of which nothing was read nothing is said', () => {
  const owned = behind();
  owned.account = new Account(99, 99);
  assert.equal(owned.unreadBefore(1_500, 2_000), 0);
  owned.account = undefined;
  assert.equal(owned.unreadBefore(1_500, 2_000), 0);
});

type Taken = Parameters<Redeliveries['count']>[0][number];

class TrackedPartition {
  readonly tracker: OffsetTracker;

  constructor(position: number) {
    this.tracker = new OffsetTracker(position);
  }

  take(...offsets: readonly number[]): Taken[] {
    for (const offset of offsets) this.tracker.add(offset, 1, 0);
    return offsets.map((offset) => ({ topic: 't', partition: 0, offset }));
  }
}

test('nothing counts as long as a partition stays', () => {
  const redeliveries = new Redeliveries();
  const account = new TrackedPartition(0);
  assert.equal(redeliveries.count(account.take(0, 1), account.tracker), 0);
  account.tracker.finish(0);
  assert.equal(redeliveries.count(account.take(2), account.tracker), 0);
});

test('what was finished before a partition went counts when it comes again, and once', () => {
  const redeliveries = new Redeliveries();
  const before = new TrackedPartition(0);
  redeliveries.count(before.take(0, 1, 2, 3, 4), before.tracker);
  for (const slot of [0, 1, 3]) before.tracker.finish(slot);
  const after = new TrackedPartition(1);
  // 1 and 3 were finished; 2 and 4 were not; 5 is new.
  assert.equal(redeliveries.count(after.take(1, 2, 3), after.tracker), 2);
  assert.equal(redeliveries.count(after.take(4, 5), after.tracker), 0);
});

test('what was still on its way when the partition went counts if it arrived in the end', () => {
  const redeliveries = new Redeliveries();
  const before = new TrackedPartition(0);
  redeliveries.count(before.take(0), before.tracker);
  const after = new TrackedPartition(0);
  before.tracker.finish(0);
  assert.equal(redeliveries.count(after.take(0), after.tracker), 1);
});

test('what a partition has passed is not looked up any more', () => {
  const redeliveries = new Redeliveries();
  const before = new TrackedPartition(0);
  redeliveries.count(before.take(0, 1), before.tracker);
  const lookUps = mock.method(before.tracker, 'hasFinished').mock;
  const after = new TrackedPartition(0);
  redeliveries.count(after.take(0, 1), after.tracker);
  const known = lookUps.callCount();
  redeliveries.count(after.take(2, 3), after.tracker);
  assert.deepEqual([known > 0, lookUps.callCount()], [true, known]);
});

test('a partition that goes twice is remembered from both times', () => {
  const redeliveries = new Redeliveries();
  const first = new TrackedPartition(0);
  redeliveries.count(first.take(0, 1, 2, 3), first.tracker);
  for (const slot of [0, 1, 2, 3]) first.tracker.finish(slot);
  const second = new TrackedPartition(0);
  assert.equal(redeliveries.count(second.take(0, 1), second.tracker), 2);
  const third = new TrackedPartition(0);
  assert.equal(redeliveries.count(third.take(0, 1, 2, 3, 4), third.tracker), 4);
});

test('records from before an account began are no repetition: somebody asked for them', () => {
  const redeliveries = new Redeliveries();
  const before = new TrackedPartition(100);
  redeliveries.count(before.take(100, 101), before.tracker);
  before.tracker.finish(0);
  before.tracker.finish(1);
  const replay = new TrackedPartition(0);
  assert.equal(redeliveries.count(replay.take(0, 1, 100), replay.tracker), 1);
});

test('partitions do not mix', () => {
  const redeliveries = new Redeliveries();
  const before = new TrackedPartition(0);
  redeliveries.count(before.take(0), before.tracker);
  before.tracker.finish(0);
  const other = new TrackedPartition(0);
  const records = other.take(0).map((record) => ({ ...record, partition: 1 }));
  assert.equal(redeliveries.count(records, other.tracker), 0);
});
