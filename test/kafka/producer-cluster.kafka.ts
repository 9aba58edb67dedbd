import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { makeTopic, readAll, valuesOf } from './topics.ts';

const cluster = await startBrokers(3);
after(() => cluster.stop());
const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
const admin = kafka.admin();
await admin.connect();
after(() => admin.disconnect());

async function leaders(topic: string): Promise<number[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const byPartition: number[] = [];
  for (const { partitionId, leader } of topics[0]?.partitions ?? [])
    byPartition[partitionId] = leader;
  return byPartition;
}

/** Gives the partition, which has one replica, to another broker. */
async function move(topic: string, partition: number, nodeId: number): Promise<void> {
  const partitionAssignment = [{ partition, replicas: [nodeId] }];
  await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] });
  await eventually(async () => {
    assert.equal((await leaders(topic))[partition], nodeId);
  });
}

const oneReplica = { 'min.insync.replicas': '1' };

const numbered = (topic: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ topic, key: `user-${i % 50}`, value: String(i) }));

test('a leader that moves to the broker which has just answered loses nothing', async () => {
  // One call to two brokers: A writes partition 0, B no longer leads partition 1, which A now leads.
  // kafkajs, repeating by itself, would skip A, ask nobody about partition 1, and report success.
  const topic = await makeTopic(kafka, 2, oneReplica);
  await move(topic, 0, 1);
  await move(topic, 1, 2);
  const failures: string[] = [];
  const producer = await createProducer(kafka, {
    log: silentLogger,
    hooks: { failed: (reason) => failures.push(reason) },
  });
  const toBoth = (value: string) =>
    [0, 1].map((partition) => ({ topic, partition, key: 'user', value }));
  await producer.send(toBoth('before'));
  await move(topic, 1, 1);
  await producer.send(toBoth('after'));
  await producer.close(10_000);
  const records = await readAll(kafka, topic);
  for (const partition of [0, 1]) {
    const values = valuesOf(records.filter((record) => record.partition === partition));
    assert.deepEqual([...new Set(values)], ['before', 'after']);
  }
  // More than once if the broker that is asked for the new leader has not heard of it.
  assert.deepEqual([...new Set(failures)], ['NOT_LEADER_FOR_PARTITION']);
});

test('leaders that move all the time lose nothing, and keep the order of first writes', async () => {
  const topic = await makeTopic(kafka, 6, oneReplica);
  const producer = await createProducer(kafka, { log: silentLogger });
  const given = numbered(topic, 5_000);
  let acknowledged = 0;
  const moving = (async () => {
    for (let i = 0; i < 12; i += 1) await move(topic, i % 6, 1 + (i % 3));
  })();
  for (const record of given) {
    producer.produce(record, (refused) => {
      assert.equal(refused, undefined);
      acknowledged += 1;
    });
    if (acknowledged % 20 === 0) await new Promise((resume) => setTimeout(resume, 1));
  }
  await moving;
  await producer.close(60_000);
  assert.equal(acknowledged, given.length);
  const seen = new Map<string, Set<string>>();
  for (const { key, value } of await readAll(kafka, topic)) {
    const ofKey = seen.get(String(key)) ?? new Set();
    seen.set(String(key), ofKey.add(String(value)));
  }
  for (const [key, values] of seen) {
    const expected = given.filter((record) => record.key === key).map(({ value }) => value);
    assert.deepEqual([...values], expected);
  }
  assert.equal(seen.size, 50);
});

test('a broker that dies, and later all of them, delay records but lose none', async () => {
  const topic = await makeTopic(kafka, 6, { 'min.insync.replicas': '2' }, 3);
  const failures: string[] = [];
  const producer = await createProducer(kafka, {
    log: silentLogger,
    hooks: { failed: (reason) => failures.push(reason) },
  });
  const given = numbered(topic, 300);
  await producer.send(given.slice(0, 100));
  await cluster.kill(2);
  await producer.send(given.slice(100, 200));
  assert.ok(failures.length > 0);

  await Promise.all([cluster.kill(1), cluster.kill(3)]);
  const rest = producer.send(given.slice(200));
  failures.length = 0;
  await eventually(() => {
    assert.ok(failures.length > 0);
  }, 60_000);
  await Promise.all([1, 2, 3].map((nodeId) => cluster.start(nodeId)));
  await rest;
  await producer.close(10_000);
  const values = new Set(valuesOf(await eventually(() => readAll(kafka, topic))));
  assert.deepEqual([...values].sort(), given.map(({ value }) => value).sort());
});
