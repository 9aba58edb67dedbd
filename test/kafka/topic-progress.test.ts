import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TopicProgress } from '../../src/kafka/topic-progress.ts';
import { FakeBrokers } from './fake-brokers.ts';

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
