import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFinished, offsetsIn, rangesWithin } from '../../src/kafka/offset-ranges.ts';

const kept = [
  { partition: 0, start: 10, end: 20 },
  { partition: 1, start: 0, end: 0 },
  { partition: 2, start: 5, end: 9 },
];

/** Answers with the first offsets of a time. */
function admin(firstAt: Record<number, number[]>): Parameters<typeof rangesWithin>[0] {
  return {
    offsets: () => Promise.resolve(kept),
    offsetsAt: (_topic, timeMs) => Promise.resolve(firstAt[timeMs] ?? []),
  };
}

test('the ranges of a time begin at its first records, and end before those of its end', async () => {
  const asked = admin({ 100: [12, 0, 3], 200: [15, 0, 7] });
  const ranges = await rangesWithin(asked, 'topic', { sinceMs: 100, untilMs: 200 });
  assert.deepEqual(ranges, [
    { partition: 0, start: 12, end: 15 },
    { partition: 1, start: 0, end: 0 },
    { partition: 2, start: 5, end: 7 },
  ]);
  assert.equal(offsetsIn(ranges), 5);
  assert.deepEqual(await rangesWithin(asked, 'topic', {}), kept);
});

test('a record that is written between the answers makes no range negative', async () => {
  const ranges = await rangesWithin(admin({ 100: [21, 1, 9] }), 'topic', { sinceMs: 100 });
  assert.equal(offsetsIn(ranges), 0);
});

test('ranges are finished when each that has records is committed to its end', () => {
  assert.equal(isFinished(kept, [20, -1, 9]), true);
  assert.equal(isFinished(kept, [20, -1, 8]), false);
  assert.equal(isFinished(kept, undefined), false);
  assert.equal(isFinished([], undefined), true);
});
