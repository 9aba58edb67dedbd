import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isFinished,
  offsetsIn,
  rangesWithin,
  TopicProgress,
} from '../../src/kafka/topic-progress.ts';
import { FakeBrokers } from './fake-brokers.ts';

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

test('a topic’s progress is what is written, and what its group has finished, in all partitions', async (t) => {
  const brokers = new FakeBrokers(2);
  const logs = brokers.makeTopic('delivery', 3);
  for (const [index, log] of logs.entries()) for (let n = 0; n <= index; n += 1) log.append('x');
  brokers.group('workers').commits.set('delivery/2', { offset: 2, metadata: '' });
  const progress = new TopicProgress(brokers, 'delivery', 'workers');
  t.after(() => {
    progress.close();
  });
  assert.deepEqual(await progress.look(), { end: 6, finished: 2 });

  logs[0]?.append('more');
  brokers.before = ({ api }) => {
    if (api === 'ListOffsets') throw new Error('away');
  };
  await assert.rejects(progress.look(), { code: 'kafka-unavailable', message: 'away' });
  brokers.before = () => undefined;
  assert.deepEqual(await progress.look(), { end: 7, finished: 2 });
});
