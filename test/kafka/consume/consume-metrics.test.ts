import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Redeliveries } from '../../../src/kafka/consume/consume-metrics.ts';
import { OffsetTracker } from '../../../src/kafka/consume/offset-tracker.ts';

type Record = Parameters<Redeliveries['count']>[0][number];

class Account {
  readonly tracker: OffsetTracker;

  constructor(position: number) {
    this.tracker = new OffsetTracker(position);
  }

  take(...offsets: readonly number[]): Record[] {
    for (const offset of offsets) this.tracker.add(offset, 1, 0);
    return offsets.map((offset) => ({ topic: 't', partition: 0, offset, owner: this }));
  }
}

test('nothing counts as long as a partition stays', () => {
  const redeliveries = new Redeliveries();
  const account = new Account(0);
  assert.equal(redeliveries.count(account.take(0, 1)), 0);
  account.tracker.finish(0);
  assert.equal(redeliveries.count(account.take(2)), 0);
});

test('what was finished before a partition went counts when it comes again, and once', () => {
  const redeliveries = new Redeliveries();
  const before = new Account(0);
  redeliveries.count(before.take(0, 1, 2, 3, 4));
  for (const slot of [0, 1, 3]) before.tracker.finish(slot);
  const after = new Account(1);
  // 1 and 3 were finished; 2 and 4 were not; 5 is new.
  assert.equal(redeliveries.count(after.take(1, 2, 3)), 2);
  assert.equal(redeliveries.count(after.take(4, 5)), 0);
});

test('what was still on its way when the partition went counts if it arrived in the end', () => {
  const redeliveries = new Redeliveries();
  const before = new Account(0);
  redeliveries.count(before.take(0));
  const after = new Account(0);
  before.tracker.finish(0);
  assert.equal(redeliveries.count(after.take(0)), 1);
});

test('what a partition has passed is not looked up any more', () => {
  const redeliveries = new Redeliveries();
  const before = new Account(0);
  redeliveries.count(before.take(0, 1));
  const lookUps = mock.method(before.tracker, 'hasFinished').mock;
  const after = new Account(0);
  redeliveries.count(after.take(0, 1));
  const known = lookUps.callCount();
  redeliveries.count(after.take(2, 3));
  assert.deepEqual([known > 0, lookUps.callCount()], [true, known]);
});

test('a partition that goes twice is remembered from both times', () => {
  const redeliveries = new Redeliveries();
  const first = new Account(0);
  redeliveries.count(first.take(0, 1, 2, 3));
  for (const slot of [0, 1, 2, 3]) first.tracker.finish(slot);
  const second = new Account(0);
  assert.equal(redeliveries.count(second.take(0, 1)), 2);
  const third = new Account(0);
  assert.equal(redeliveries.count(third.take(0, 1, 2, 3, 4)), 4);
});

test('records from before an account began are no repetition: somebody asked for them', () => {
  const redeliveries = new Redeliveries();
  const before = new Account(100);
  redeliveries.count(before.take(100, 101));
  before.tracker.finish(0);
  before.tracker.finish(1);
  const replay = new Account(0);
  assert.equal(redeliveries.count(replay.take(0, 1, 100)), 1);
});

test('partitions do not mix', () => {
  const redeliveries = new Redeliveries();
  const before = new Account(0);
  redeliveries.count(before.take(0));
  before.tracker.finish(0);
  const other = new Account(0).take(0).map((record) => ({ ...record, partition: 1 }));
  assert.equal(redeliveries.count(other), 0);
});
