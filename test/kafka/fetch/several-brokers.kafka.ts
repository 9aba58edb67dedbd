import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { startCluster } from '../../../src/dev/broker.ts';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../../src/kafka/client.ts';
import type { ClusterClient } from '../../../src/kafka/cluster/cluster.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { testPrefix } from '../../harness/broker.ts';
import { eventually } from '../../harness/eventually.ts';
import { Member, numbers } from '../consume/member.ts';
import { FakeLogger } from '../fake-logger.ts';
import { withRawAdmin } from '../topics.ts';

/** A broker in each of three zones. */
const cluster = await startCluster(3, {
  extra: {
    listeners: [],
    properties: { 'replica.lag.time.max.ms': '2000' },
    logLevels: {},
    racks: ['r1', 'r2', 'r3'],
  },
});
after(() => cluster.stop());

function clientIn(rack: string): KafkaClient {
  return createKafka({ brokers: cluster.brokers, clientId: 'test', rack }, silentLogger);
}
const kafka = clientIn('');
const producer = await createProducer(kafka, { log: silentLogger });
after(() => producer.close(10_000));

/** One partition, whose first replica leads. */
async function makeTopic(
  replicas: readonly number[],
  config: Readonly<Record<string, string>>,
): Promise<string> {
  const topic = `${testPrefix()}calls`;
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const replicaAssignment = [{ partition: 0, replicas: [...replicas] }];
  await withRawAdmin(kafka, (admin) =>
    admin.createTopics({
      topics: [{ topic, replicaAssignment, configEntries }],
      waitForLeaders: false,
    }),
  );
  await eventually(() => withAdmin(kafka, (admin) => admin.offsets(topic)));
  return topic;
}

async function write(topic: string, from: number, count: number): Promise<void> {
  for (const value of numbers(count, from))
    await producer.send([{ topic, partition: 0, key: null, value: String(value) }]);
}

function read(t: TestContext, topic: string, client: ClusterClient, log: FakeLogger): Member {
  const member = new Member(client, {
    groupId: `${topic}.group`,
    topics: [topic],
    windowRecords: 1_000,
    windowBytes: 1_000_000,
    clock: systemClock,
    log,
  });
  member.finishes = true;
  member.start();
  t.after(() => member.loop.stop(0));
  return member;
}

/** The client, and which nodes' fetches brought it records. */
function noting(client: ClusterClient): { client: ClusterClient; brought: Set<number> } {
  const brought = new Set<number>();
  return {
    brought,
    client: {
      rack: client.rack,
      openCluster: () => {
        const opened = client.openCluster();
        const fetch = opened.fetch.bind(opened);
        opened.fetch = async (nodeId, request) => {
          const answer = await fetch(nodeId, request);
          if (answer.partitions.some(({ records }) => records.length > 0)) brought.add(nodeId);
          return answer;
        };
        return opened;
      },
    },
  };
}

test('who is told its zone reads from the replica there, and from the leader when that is gone', async (t) => {
  const topic = await makeTopic([1, 2, 3], { 'min.insync.replicas': '1' });
  const { client, brought } = noting(clientIn('r2'));
  await write(topic, 0, 5);
  const log = new FakeLogger();
  const member = read(t, topic, client, log);
  await eventually(() => {
    assert.deepEqual(member.values(), numbers(5));
  });
  await write(topic, 5, 5);
  await eventually(() => {
    assert.deepEqual(member.values(), numbers(10));
  });
  assert.deepEqual([...brought], [2]);
  await cluster.kill(2);
  brought.clear();
  await write(topic, 10, 5);
  await eventually(() => {
    assert.deepEqual(member.values(), numbers(15));
  });
  assert.deepEqual([...brought], [1]);
  await cluster.start(2);
});

test('after an unclean election a member reads on where the log went another way, and says so', async (t) => {
  const topic = await makeTopic([1, 2], {
    'min.insync.replicas': '1',
    'unclean.leader.election.enable': 'true',
  });
  const log = new FakeLogger();
  const member = read(t, topic, kafka, log);
  await write(topic, 0, 5);
  await eventually(() => {
    assert.deepEqual(member.values(), numbers(5));
  });
  // What a follower has written to its disk is what it knows of after it was killed.
  await eventually(async () => {
    assert.deepEqual(await inSync(topic), [1, 2]);
  });
  await cluster.kill(2);
  await eventually(async () => {
    assert.deepEqual(await inSync(topic), [1]);
  });
  await write(topic, 5, 5);
  await eventually(() => {
    assert.deepEqual(member.values(), numbers(10));
  });
  await cluster.kill(1);
  await cluster.start(2);
  await write(topic, 100, 20);
  await eventually(() => {
    assert.deepEqual(new Set(member.values()), new Set([...numbers(10), ...numbers(20, 100)]));
  });
  // The five that both have are not read again.
  assert.equal(member.received.length, 30);
  assert.match(log.visible.join('\n'), /^error: the log was cut off.*"from":10,"to":5/m);
  await cluster.start(1);
});

async function inSync(topic: string): Promise<number[]> {
  return withRawAdmin(kafka, async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions[0]?.isr.toSorted((a, b) => a - b) ?? [];
  });
}
