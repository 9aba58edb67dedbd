import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeBatch, mayKeepTracker } from '../../../src/kafka/consume/acceptance.ts';

test('a batch is accepted only if it was fetched from our position', () => {
  const at = (fetchedOffset: number) =>
    judgeBatch({ position: 10, fetchedOffset, seekPending: false });
  assert.equal(at(10), 'accept');
  assert.equal(at(9), 'reposition');
  assert.equal(at(11), 'reposition');
});

test('a batch from before a pending seek is ignored, even from our position', () => {
  assert.equal(judgeBatch({ position: 10, fetchedOffset: 10, seekPending: true }), 'ignore');
});

test('no batch is accepted while the position is looked up', () => {
  const position = undefined;
  assert.equal(judgeBatch({ position, fetchedOffset: 10, seekPending: false }), 'ignore');
});

test('a tracker is kept only if its last commit is what the broker holds', () => {
  const own = { committed: 10, attempted: 10 };
  assert.equal(mayKeepTracker(own, 10), true);
  assert.equal(mayKeepTracker(own, 9), false);
  assert.equal(mayKeepTracker(own, 11), false);
});

test('a commit whose answer was lost may or may not have arrived', () => {
  const own = { committed: 10, attempted: 15 };
  assert.equal(mayKeepTracker(own, 10), true);
  assert.equal(mayKeepTracker(own, 15), true);
  assert.equal(mayKeepTracker(own, 16), false);
  assert.equal(mayKeepTracker({ committed: undefined, attempted: 15 }, 15), true);
  assert.equal(mayKeepTracker({ committed: undefined, attempted: 15 }, 14), false);
});

test('a commit that the broker forgot means that the topic was made again', () => {
  assert.equal(mayKeepTracker({ committed: 10, attempted: 10 }, -1), false);
  assert.equal(mayKeepTracker({ committed: undefined, attempted: undefined }, -1), true);
});

test('a position that kafkajs reset because it was out of range is not kept', () => {
  assert.equal(mayKeepTracker({ committed: undefined, attempted: undefined }, -2), false);
  assert.equal(mayKeepTracker({ committed: 10, attempted: 10 }, -2), false);
});
