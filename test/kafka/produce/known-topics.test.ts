import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ProducerEvents } from '../../../src/kafka/produce/events.ts';
import { KnownTopics } from '../../../src/kafka/produce/known-topics.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { WritableCluster } from './writable-cluster.ts';
import { keptLog } from './scene.ts';

function open() {
  const cluster = new WritableCluster();
  const clock = new SimulatedClock();
  const counted: [string, number][] = [];
  const unknown: [string, string][] = [];
  const hooks = { unknown: (...told: [string, string]) => void unknown.push(told) };
  const { log, lines } = keptLog();
  const topics = new KnownTopics({
    cluster,
    clock,
    events: new ProducerEvents(log, clock, hooks),
    onCount: (topic, partitions) => counted.push([topic, partitions]),
    onMissing: () => undefined,
    pause: () => Promise.resolve(true),
  });
  /** The cluster answers with the event loop's next turn, which no simulated time waits for. */
  const pass = async (ms: number): Promise<void> => {
    await clock.pass(ms);
    await setImmediate();
    await setImmediate();
  };
  return { cluster, clock, counted, lines, topics, unknown, pass };
}

test('a topic is asked about once, however many want to know', async () => {
  const { cluster, topics } = open();
  cluster.makeTopic('a', 12);
  const both = [topics.partitionCount('a'), topics.partitionCount('a')];
  assert.deepEqual(await Promise.all(both), [12, 12]);
  assert.equal(await topics.partitionCount('a'), 12);
  assert.deepEqual(cluster.refreshed, [['a']]);
});

test('a topic that is not there yet is asked about until it is', async () => {
  const { cluster, counted, lines, topics, unknown } = open();
  cluster.onRefresh = () => {
    if (cluster.refreshed.length === 10) cluster.makeTopic('a', 3);
  };
  assert.equal(await topics.partitionCount('a'), 3);
  assert.deepEqual(counted, [['a', 3]]);
  assert.deepEqual(lines, ['Records wait for topic a: UNKNOWN_TOPIC_OR_PARTITION']);
  // Told each time, although it is not logged each time.
  assert.deepEqual(unknown, Array(9).fill(['UNKNOWN_TOPIC_OR_PARTITION', 'a']));
});

test('while a question is open, all that come after it become one', async () => {
  const { cluster, topics } = open();
  for (const topic of ['a', 'b', 'c']) cluster.makeTopic(topic, 1);
  const first = topics.refresh(['a']);
  await Promise.resolve();
  await Promise.all([first, ...['b', 'c', 'b'].map((topic) => topics.refresh([topic]))]);
  assert.deepEqual(cluster.refreshed, [['a'], ['b', 'c']]);
});

test('a question that fails ends for those who asked it, and the next is asked all the same', async () => {
  const { cluster, topics } = open();
  cluster.makeTopic('a', 1);
  cluster.onRefresh = () => {
    if (cluster.refreshed.length === 1) throw new Error('no broker');
  };
  await assert.rejects(topics.refresh(['a']), /no broker/);
  await topics.refresh(['a']);
  assert.equal(topics.leader('a', 0), 1);
});

test('a topic that grew is noticed within a minute, if something was written to it lately', async () => {
  const { cluster, counted, topics, pass } = open();
  cluster.makeTopic('a', 3);
  await topics.partitionCount('a');
  topics.use(['a']);
  cluster.logs.get('a')?.partitions.push(...cluster.makeTopic('more', 1));
  await pass(60_000);
  assert.deepEqual(counted, [
    ['a', 3],
    ['a', 4],
  ]);
  assert.equal(await topics.partitionCount('a'), 4);
});

test('nobody asks about a topic that nothing is written to', async () => {
  const { cluster, topics, pass } = open();
  cluster.makeTopic('a', 3);
  topics.use(['a']);
  for (let minute = 1; minute <= 30; minute += 1) await pass(60_000);
  assert.equal(cluster.refreshed.length, 10);
  topics.stop();
});

test('a count stays while Kafka cannot be asked again, and after the topic is gone', async () => {
  const { cluster, topics, pass } = open();
  cluster.makeTopic('a', 3);
  await topics.partitionCount('a');
  topics.use(['a']);
  cluster.onRefresh = () => {
    throw new Error('no broker');
  };
  await pass(60_000);
  cluster.onRefresh = () => undefined;
  cluster.logs.delete('a');
  await pass(60_000);
  assert.equal(await topics.partitionCount('a'), 3);
  assert.equal(topics.leader('a', 0), undefined);
  assert.equal(topics.leaderless('a', 0).reason, 'UNKNOWN_TOPIC_OR_PARTITION');
});

test('fewer partitions count only for a topic that was made again', async () => {
  const { cluster, topics } = open();
  cluster.makeTopic('a', 3);
  await topics.partitionCount('a');
  cluster.logs.get('a')?.partitions.pop();
  await topics.refresh(['a']);
  assert.equal(await topics.partitionCount('a'), 3);
  cluster.makeTopic('a', 2);
  await topics.refresh(['a']);
  assert.equal(await topics.partitionCount('a'), 2);
});
