import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { LatestMetadata } from '../../../src/kafka/cluster/latest-metadata.ts';
import { noTopicId, type DescribedTopic } from '../../../src/kafka/protocol/metadata.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { startOldBroker } from '../old-broker.ts';

/** @param partitions leader and epoch of each */
function described(
  id: string,
  ...partitions: readonly (readonly [leader: number, epoch: number])[]
): DescribedTopic {
  return {
    name: 't',
    error: 'NONE',
    id,
    partitions: partitions.map(([leader, epoch]) => ({ leader, epoch, inSync: [leader] })),
  };
}

function failed(error: DescribedTopic['error']): DescribedTopic {
  return { name: 't', error, id: noTopicId, partitions: [] };
}

/** What is known after these answers, as `leader@epoch` of each partition. */
function after(...answers: readonly DescribedTopic[]): string | undefined {
  const latest = new LatestMetadata();
  for (const answer of answers) latest.learn(answer);
  return latest
    .topic('t')
    ?.partitions.map(({ leader, epoch }) => `${leader}@${epoch}`)
    .join(' ');
}

describe('what brokers tell about leaders', () => {
  test('holds until a later one is told of, whoever tells of an earlier one meanwhile', () => {
    assert.equal(after(described('a', [1, 4]), described('a', [2, 5])), '2@5');
    assert.equal(after(described('a', [2, 5]), described('a', [1, 4])), '2@5');
    assert.equal(
      after(described('a', [2, 5]), described('a', [1, 4]), described('a', [3, 6])),
      '3@6',
    );
  });

  test('is judged for each partition by itself', () => {
    assert.equal(after(described('a', [1, 4], [2, 7]), described('a', [2, 5], [3, 6])), '2@5 2@7');
  });

  test('is the last word on one leader: it may be away, and back', () => {
    assert.equal(after(described('a', [1, 4]), described('a', [-1, 4])), '-1@4');
    assert.equal(after(described('a', [-1, 4]), described('a', [1, 4])), '1@4');
  });

  test('holds though a broker says meanwhile that there is no such topic, or that it cannot tell', () => {
    const [later, earlier] = [described('a', [2, 5]), described('a', [1, 4])];
    assert.equal(after(later, failed('UNKNOWN_TOPIC_OR_PARTITION')), undefined);
    assert.equal(after(later, failed('UNKNOWN_TOPIC_OR_PARTITION'), earlier), '2@5');
    assert.equal(after(later, failed('LEADER_NOT_AVAILABLE')), '2@5');
  });

  test('takes no partition away', () => {
    assert.equal(after(described('a', [1, 4], [2, 0]), described('a', [2, 5])), '2@5 2@0');
  });

  test('begins anew with a topic that was made again, which may lead to the former one and back', () => {
    const [former, remade] = [described('a', [2, 5]), described('b', [1, 0])];
    assert.equal(after(former, remade), '1@0');
    assert.equal(after(former, remade, described('a', [1, 4])), '2@5');
    assert.equal(after(former, remade, former, remade), '1@0');
  });

  test('is taken as it is where topics have no ids, because one that was made again looks the same', () => {
    assert.equal(after(described(noTopicId, [2, 5]), described(noTopicId, [1, 0])), '1@0');
  });

  test('is kept by a cluster, also from a broker that is asked again', async (t) => {
    const broker = { metadata: 12, topicId: 'ab'.repeat(16), epoch: 5 };
    const address = await startOldBroker(t, broker);
    const cluster = createKafka(
      { brokers: [address], clientId: 'test' },
      silentLogger,
    ).openCluster();
    t.after(() => {
      cluster.close();
    });
    const epochs: (number | undefined)[] = [];
    for (broker.epoch of [5, 4, 6]) {
      await cluster.refresh(['t']);
      epochs.push(cluster.topic('t')?.partitions[0]?.epoch);
    }
    assert.deepEqual(epochs, [5, 5, 6]);
  });
});
