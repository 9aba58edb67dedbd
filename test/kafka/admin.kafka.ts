import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ensureTopics, openAdmin, type TopicSpec } from '../../src/kafka/admin.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { makeTopic, testKafka, withRawAdmin } from './topics.ts';

const kafka = await testKafka();
const admin = await openAdmin(kafka);
after(() => admin.close());

const spec = (name: string, config: Record<string, string> = {}): TopicSpec => ({
  name,
  partitions: 2,
  replicationFactor: 1,
  config,
});

test('only topics that are missing are created, and a second time nothing is', async () => {
  const prefix = testPrefix();
  const [a, b] = [spec(`${prefix}a`), spec(`${prefix}b`)];
  assert.deepEqual(await ensureTopics(kafka, [a]), [a.name]);
  assert.deepEqual(await admin.createTopics([a, b]), [b.name]);
  assert.deepEqual(await admin.createTopics([a, b]), []);
  assert.deepEqual(await admin.topicNames(prefix), [a.name, b.name]);
});

test('a topic is described as it is, with settings that nobody gave', async () => {
  const topic = spec(`${testPrefix()}a`, { 'message.timestamp.type': 'LogAppendTime' });
  await admin.createTopics([topic]);
  const described = (await admin.describeTopics([topic.name, `${topic.name}.missing`])).get(
    topic.name,
  );
  assert.equal(described?.partitions, 2);
  assert.equal(described.replicationFactor, 1);
  assert.equal(described.config['message.timestamp.type'], 'LogAppendTime');
  assert.equal(described.config['max.message.bytes'], '1048588');
});

test('topics that do not exist are not described', async () => {
  assert.equal((await admin.describeTopics([`${testPrefix()}a`])).size, 0);
});

test('a setting that Kafka does not know is refused with the topic’s name and the reason', async () => {
  const name = `${testPrefix()}a`;
  await assert.rejects(admin.createTopics([spec(name, { 'no.such.setting': '1' })]), {
    code: 'kafka-refused',
    message: new RegExp(name),
  });
});

test('a topic can be given more partitions, not fewer', async () => {
  const topic = await makeTopic(kafka, 2);
  await admin.extendPartitions([{ name: topic, partitions: 4 }]);
  // Brokers count the former ones until they have heard from the controller.
  await eventually(async () => {
    assert.equal(await admin.partitionCount(topic), 4);
  });
  await assert.rejects(admin.extendPartitions([{ name: topic, partitions: 3 }]), {
    code: 'kafka-refused',
  });
});

test('a deleted topic is gone; deleting it again does nothing', async () => {
  const topic = await makeTopic(kafka, 1);
  await admin.deleteTopic(topic);
  // Brokers list it until they have heard from the controller.
  await eventually(async () => {
    assert.deepEqual(await admin.topicNames(topic), []);
  });
  await admin.deleteTopic(topic);
});

test('offsets are those of the records kept; by time, of the first one after it', async () => {
  const topic = await makeTopic(kafka, 2, { 'message.timestamp.type': 'LogAppendTime' });
  const producer = await createProducer(kafka, { log: silentLogger });
  const record = { topic, partition: 1, key: null, value: 'x' };
  await producer.send([record, record, record]);
  await producer.close(10_000);
  assert.deepEqual(await admin.offsets(topic), [
    { partition: 0, start: 0, end: 0 },
    { partition: 1, start: 0, end: 3 },
  ]);
  assert.deepEqual(await admin.offsetsAt(topic, 1), [0, 0]);
  assert.deepEqual(await admin.offsetsAt(topic, Date.now() + 3_600_000), [0, 3]);
});

test('a group’s offsets are -1 where it has committed none', async () => {
  const topic = await makeTopic(kafka, 2);
  const groupId = `${testPrefix()}group`;
  const partitions = [{ partition: 1, offset: '7' }];
  await withRawAdmin(kafka, (raw) => raw.setOffsets({ groupId, topic, partitions }));
  const offsets = await admin.committedOffsets(groupId, [topic]);
  assert.deepEqual(offsets.get(topic), [-1, 7]);
});

test('a missing topic is an error of its own', async () => {
  const name = `${testPrefix()}missing`;
  const notFound = { code: 'not-found', message: `Topic ${name} does not exist` };
  await assert.rejects(admin.partitionCount(name), notFound);
  await assert.rejects(admin.offsets(name), notFound);
});

test('a cluster says how many brokers it has', async () => {
  assert.ok((await admin.brokerCount()) >= 1);
});
