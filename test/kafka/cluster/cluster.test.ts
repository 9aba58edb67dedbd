import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earliestTime, latestTime, listOffsets } from '../../../src/kafka/cluster/cluster.ts';
import { FakeBrokers } from '../fake-brokers.ts';

/** Four partitions, of which 0 and 3 have the same leader; partition i ends at i + 1. */
async function scene() {
  const brokers = new FakeBrokers(3);
  for (const [partition, log] of brokers.makeTopic('topic', 4).entries())
    for (let i = 0; i <= partition; i += 1) log.append(i);
  const cluster = brokers.openCluster();
  await cluster.refresh(['topic', 'missing']);
  return { brokers, cluster };
}

test('each leader is asked once, for all that it leads', async () => {
  const { brokers, cluster } = await scene();
  brokers.log('topic', 2).removeBefore(2);
  const ends = await listOffsets(cluster, 'topic', latestTime);
  assert.deepEqual(
    [...ends].toSorted(([a], [b]) => a - b),
    [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ],
  );
  assert.equal(brokers.count('ListOffsets'), 3);
  const starts = await listOffsets(cluster, 'topic', earliestTime, [2, 3]);
  assert.deepEqual(Object.fromEntries(starts), { 2: 2, 3: 0 });
});

test('who asks for what cannot be told learns which it is', async () => {
  const { brokers, cluster } = await scene();
  await assert.rejects(listOffsets(cluster, 'missing', latestTime), /topic missing: UNKNOWN_TOPIC/);
  brokers.log('topic', 1).listError = 'OFFSET_NOT_AVAILABLE';
  const failing = listOffsets(cluster, 'topic', latestTime);
  await assert.rejects(failing, /partition 1 of topic: OFFSET_NOT_AVAILABLE/);
  brokers.log('topic', 3).lead(-1);
  await cluster.refresh(['topic']);
  const leaderless = listOffsets(cluster, 'topic', latestTime, [2, 3]);
  await assert.rejects(leaderless, /partition 3 of topic: LEADER_NOT_AVAILABLE/);
  assert.equal((await listOffsets(cluster, 'topic', latestTime, [2])).get(2), 3);
});
