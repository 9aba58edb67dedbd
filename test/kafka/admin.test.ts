import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensureTopics, withAdmin, type TopicSpec } from '../../src/kafka/admin.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { kafkaError } from './batches.ts';

const topic: TopicSpec = { name: 'a', partitions: 1, replicationFactor: 1, config: {} };

for (const [what, error] of [
  ['does not know its topic', kafkaError('UNKNOWN_TOPIC_OR_PARTITION')],
  ['does not know that it leads', kafkaError('NOT_LEADER_FOR_PARTITION')],
  ['has no leader for it', kafkaError('LEADER_NOT_AVAILABLE')],
  ['has no leader for another, of which kafkajs tells nothing', new TypeError('of null')],
] as const) {
  test(`a topic was made, and a broker still ${what}: it is asked again`, async () => {
    const answers: (Error | undefined)[] = [error, undefined];
    const admin = {
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      listTopics: () => Promise.resolve([]),
      createTopics: () => Promise.resolve(true),
      fetchTopicOffsets: () => {
        const answer = answers.shift();
        return answer === undefined ? Promise.resolve([]) : Promise.reject(answer);
      },
    };
    const kafka = { admin: () => admin } as unknown as KafkaClient;
    assert.deepEqual(await ensureTopics(kafka, [topic]), ['a']);
    assert.deepEqual(answers, []);
  });
}

test('a topic whose deletion has not ended, as with ZooKeeper, is made once it has', async () => {
  const answers = [false, true];
  const admin = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    listTopics: () => Promise.resolve([]),
    // False: there is one of that name.
    createTopics: () => Promise.resolve(answers.shift()),
    fetchTopicOffsets: () =>
      answers.length > 0
        ? Promise.reject(kafkaError('UNKNOWN_TOPIC_OR_PARTITION'))
        : Promise.resolve([]),
  };
  const kafka = { admin: () => admin } as unknown as KafkaClient;
  assert.deepEqual(await ensureTopics(kafka, [topic]), ['a']);
  assert.deepEqual(answers, []);
});

test('what asks on after the questions are over connects to Kafka no more', async () => {
  let asked = 0;
  const admin = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    fetchTopicOffsets: () => {
      asked += 1;
      return Promise.resolve([]);
    },
  };
  const kafka = { admin: () => admin } as unknown as KafkaClient;
  let later: Promise<unknown> | undefined;
  const over = Promise.withResolvers<undefined>();
  const failed = withAdmin(kafka, (questions) => {
    later = over.promise.then(() => questions.offsets('a'));
    return Promise.reject(new Error('another part has failed'));
  });
  await assert.rejects(failed, /another part/);
  over.resolve(undefined);
  await assert.rejects(later ?? assert.fail(), /closed/);
  assert.equal(asked, 0);
});

for (const reason of [
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
]) {
  test(`the coordinator of a group answers ${reason}: it is asked again`, async () => {
    const answers: (Error | undefined)[] = [
      kafkaError(reason),
      undefined,
      kafkaError(reason),
      undefined,
    ];
    const partitions = [{ partition: 0, offset: '3', metadata: null }];
    const admin = {
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      fetchOffsets: () => {
        const answer = answers.shift();
        return answer === undefined
          ? Promise.resolve([{ topic: 'a', partitions }])
          : Promise.reject(answer);
      },
      fetchTopicOffsets: () => Promise.resolve([{ partition: 0, low: '0', high: '5' }]),
    };
    const kafka = { admin: () => admin } as unknown as KafkaClient;
    await withAdmin(kafka, async (questions) => {
      assert.deepEqual(await questions.committedOffsets('g', ['a']), new Map([['a', [3]]]));
      assert.equal((await questions.unfinished('g', 'a')).length, 1);
    });
    assert.deepEqual(answers, []);
  });
}
