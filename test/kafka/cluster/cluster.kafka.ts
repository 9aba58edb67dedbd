import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { earliestTime, latestTime } from '../../../src/kafka/cluster/cluster.ts';
import { listOffsets } from '../../../src/kafka/cluster/list-offsets.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { testBroker, testPrefix } from '../../harness/broker.ts';
import { eventually } from '../../harness/eventually.ts';
import { makeTopic, testKafka, withRawAdmin } from '../topics.ts';

const kafka = await testKafka();

function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

test('a cluster that is closed leaves no connection, though it was about to make one', async () => {
  const topic = await makeTopic(kafka, 1);
  const before = connections();
  const cluster = kafka.openCluster();
  const connecting = cluster.refresh([topic]);
  cluster.close();
  await assert.rejects(connecting);
  await assert.rejects(cluster.refresh([topic]), { code: 'stopped' });
  await eventually(() => {
    assert.ok(connections() <= before);
  });
});

test('a topic that is not there says so until it is, and has another id when it is made again', async (t) => {
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  const topic = `${testPrefix()}late`;
  await cluster.refresh([topic]);
  assert.deepEqual(
    [cluster.topic(topic), cluster.topicError(topic)],
    [undefined, 'UNKNOWN_TOPIC_OR_PARTITION'],
  );
  const make = (): Promise<unknown> =>
    withRawAdmin(kafka, (admin) =>
      admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false }),
    );
  const idOnceThere = (): Promise<string> =>
    eventually(async () => {
      await cluster.refresh([topic]);
      const known = cluster.topic(topic);
      assert.equal(known?.partitions.length, 3);
      for (const { leader } of known.partitions) assert.ok(leader >= 0);
      return known.id;
    });
  await make();
  const id = await idOnceThere();
  assert.equal(cluster.topicError(topic), undefined);
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] }));
  await eventually(async () => {
    await cluster.refresh([topic]);
    assert.equal(cluster.topic(topic), undefined);
  });
  await make();
  assert.notEqual(await idOnceThere(), id);
});

test('where a log begins and ends is told for each partition, and for a time', async (t) => {
  const topic = await makeTopic(kafka, 2, { 'message.timestamp.type': 'CreateTime' });
  const producer = kafka.producer();
  await producer.connect();
  const messages = [1_000, 2_000, 3_000].map((timestamp) => ({
    partition: 1,
    value: 'x',
    timestamp: String(timestamp),
  }));
  for (const message of messages) await producer.send({ topic, messages: [message] });
  await producer.disconnect();
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh([topic]);
  assert.deepEqual(Object.fromEntries(await listOffsets(cluster, topic, earliestTime)), {
    0: 0,
    1: 0,
  });
  assert.deepEqual(Object.fromEntries(await listOffsets(cluster, topic, latestTime)), {
    0: 0,
    1: 3,
  });
  assert.equal((await listOffsets(cluster, topic, 1_500, [1])).get(1), 1);
});

test('brokers that are not there, or hang, keep nobody from the one that answers', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const { brokers } = await testBroker();
  const seeds = ['127.0.0.1:1', `127.0.0.1:${port}`, ...brokers];
  const client = createKafka({ brokers: seeds, clientId: 'test' }, silentLogger);
  const cluster = client.openCluster();
  t.after(() => {
    cluster.close();
  });
  const topic = await makeTopic(kafka, 1);
  await cluster.refresh([topic]);
  assert.equal(cluster.topic(topic)?.partitions.length, 1);
  // From now on it knows whom to ask.
  const tookMs: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const startMs = performance.now();
    await cluster.refresh([topic]);
    tookMs.push(performance.now() - startMs);
  }
  assert.ok(Math.min(...tookMs) < 1_000, tookMs.join());
});

test('an error of a partition is an answer of its own', async (t) => {
  const topic = await makeTopic(kafka, 1);
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh([topic]);
  const known = cluster.topic(topic);
  const node = known?.partitions[0]?.leader ?? -1;
  const position = { leaderEpoch: -1, lastEpoch: -1, maxBytes: 1_000 };
  const answer = await cluster.fetch(node, {
    maxWaitMs: 10,
    maxBytes: 1_000,
    rack: '',
    topics: [
      {
        id: known?.id ?? '',
        partitions: [
          { partition: 0, offset: 0, ...position },
          { partition: 7, offset: 0, ...position },
        ],
      },
      { id: 'f'.repeat(32), partitions: [{ partition: 0, offset: 0, ...position }] },
    ],
  });
  assert.equal(answer.error, 'NONE');
  // Not in the order in which they were asked for.
  assert.deepEqual(
    answer.partitions.map(({ partition, error }) => `${partition} ${error}`).toSorted(),
    ['0 NONE', '0 UNKNOWN_TOPIC_ID', '7 UNKNOWN_TOPIC_OR_PARTITION'],
  );
  const end = await cluster.epochEnd(node, { topic, partition: 0, leaderEpoch: -1, epoch: 0 });
  assert.deepEqual(end, { error: 'NONE', epoch: 0, endOffset: 0 });
  const refused = cluster.epochEnd(node, { topic, partition: 7, leaderEpoch: -1, epoch: 0 });
  assert.equal((await refused).error, 'UNKNOWN_TOPIC_OR_PARTITION');
});
