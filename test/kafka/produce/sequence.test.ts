import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSequence, nextEpoch, sequenceAfter } from '../../../src/kafka/produce/sequence.ts';

const first = firstSequence({ id: 7, epoch: 0 });

test('each record takes a number, from zero', () => {
  assert.deepEqual(first, { producerId: 7, epoch: 0, next: 0 });
  assert.equal(sequenceAfter(sequenceAfter(first, 3), 2).next, 5);
});

test('behind the largest number comes zero, as in Java', () => {
  const near = { ...first, next: 2 ** 31 - 3 };
  assert.deepEqual(
    [1, 2, 3, 4, 500].map((records) => sequenceAfter(near, records).next),
    [2 ** 31 - 2, 2 ** 31 - 1, 0, 1, 497],
  );
});

test('an epoch begins with number zero, and the last one is followed by none', () => {
  assert.deepEqual(nextEpoch({ ...first, next: 9 }), { producerId: 7, epoch: 1, next: 0 });
  assert.equal(nextEpoch({ ...first, epoch: 32_766 })?.epoch, 32_767);
  assert.equal(nextEpoch({ ...first, epoch: 32_767 }), undefined);
});
