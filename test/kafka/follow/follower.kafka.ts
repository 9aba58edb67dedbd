import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import {
  startFollower,
  type Follower,
  type FollowerOptions,
} from '../../../src/kafka/follow/follower.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { newClient, numbers, Scene } from '../kafka-scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(async () => {
  await scene.close();
});

async function follow(
  topic: string,
  options: Partial<FollowerOptions> = {},
): Promise<{ follower: Follower; values: number[] }> {
  const values: number[] = [];
  const follower = startFollower(await newClient(), {
    topic,
    log: silentLogger,
    onRecord: ({ value }) => {
      values.push(Number(value));
    },
    onRestart: () => {
      values.length = 0;
    },
    ...options,
  });
  scene.onClose(() => follower.stop());
  return { follower, values };
}

test('a follower hands over the whole topic, then knows that it has', async () => {
  const topic = await scene.createTopic('config', 2);
  await scene.write(topic, 2, 500);
  const { follower, values } = await follow(topic);
  assert.equal(follower.isFresh(), false);
  await follower.loaded;
  assert.deepEqual(
    values.toSorted((a, b) => a - b),
    numbers(500),
  );
  assert.deepEqual([follower.position(0), follower.position(1)], [250, 250]);
  assert.equal(follower.isFresh(), true);
});

test('an empty topic is loaded at once', async () => {
  const topic = await scene.createTopic('config', 1);
  const { follower } = await follow(topic);
  await follower.loaded;
  assert.equal(follower.position(), 0);
});

test('what was written before is there when a follower has caught up', async () => {
  const topic = await scene.createTopic('config', 1);
  const { follower, values } = await follow(topic);
  await follower.loaded;
  for (let i = 0; i < 20; i += 1) {
    await scene.write(topic, 1, 1, i);
    await follower.caughtUp();
    assert.equal(values.length, i + 1);
  }
});

test('a follower reads past transactions, without what was aborted', async () => {
  const topic = await scene.createTopic('members', 1);
  const producer = scene.kafka.producer({
    transactionalId: topic,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  scene.onClose(() => producer.disconnect());
  for (const [value, isKept] of [
    ['0', true],
    ['1', false],
    ['2', true],
    ['3', false],
  ] as const) {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    await (isKept ? transaction.commit() : transaction.abort());
  }
  const { follower, values } = await follow(topic);
  await eventually(async () => {
    await follower.caughtUp();
    assert.equal(follower.position(), 8);
  });
  assert.deepEqual(values, [0, 2]);
});

for (const [when, wait] of [
  ['at once', () => Promise.resolve()],
  ['after it was seen to be gone', goneStale],
] as const) {
  test(`a topic that was deleted and made again ${when} is read from its beginning`, async () => {
    const topic = await scene.createTopic('config', 1);
    await scene.write(topic, 1, 5);
    const { follower, values } = await follow(topic);
    await follower.loaded;
    await scene.admin.deleteTopics({ topics: [topic] });
    await wait(follower);
    await scene.createTopic('config', 1);
    await scene.write(topic, 1, 9, 100);
    await eventually(async () => {
      await follower.caughtUp();
      assert.deepEqual(values, numbers(9, 100));
    });
  });
}

async function goneStale(follower: Follower): Promise<void> {
  await eventually(() => {
    assert.equal(follower.isFresh(), false);
  });
}

test('a follower needs no group', async () => {
  const topic = await scene.createTopic('config', 1);
  const { follower } = await follow(topic);
  await follower.loaded;
  const { groups } = await scene.admin.listGroups();
  const own = groups.filter(({ groupId }) => groupId.startsWith(scene.prefix));
  assert.deepEqual(own, []);
});

test('partitions that are added are read, and waited for', async () => {
  const topic = await scene.createTopic('config', 1);
  await scene.write(topic, 1, 5);
  const { follower, values } = await follow(topic);
  await follower.loaded;
  await scene.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  await eventually(async () => {
    assert.equal((await scene.admin.fetchTopicOffsets(topic)).length, 3);
  });
  // kafkajs drops what is for a partition that it has not heard of.
  const producer = scene.kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ partition: 2, value: '5' }] });
  await producer.disconnect();
  await eventually(async () => {
    await follower.caughtUp();
    assert.deepEqual(values, numbers(6));
  });
});

test('a follower waits for a topic that does not exist yet', async () => {
  const topic = scene.topic('config');
  const { follower, values } = await follow(topic);
  await scene.createTopic('config', 1);
  await scene.write(topic, 1, 3);
  await eventually(async () => {
    await follower.caughtUp();
    assert.deepEqual(values, [0, 1, 2]);
  });
});
