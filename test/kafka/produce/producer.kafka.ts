import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { withAdmin } from '../../../src/kafka/admin.ts';
import type { ProducerCluster } from '../../../src/kafka/cluster/writing-cluster.ts';
import { createProducer, type ProducerClient } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { testPrefix } from '../../harness/broker.ts';
import { makeTopic, readAll, testKafka, valuesOf } from '../topics.ts';

const kafka = await testKafka();
const failures: string[] = [];
const producer = await createProducer(kafka, {
  log: silentLogger,
  hooks: { failed: (reason) => failures.push(reason) },
});
after(() => producer.close(10_000));

type Produce = ProducerCluster['produce'];

/** The brokers, with something of the test's own between them and the producer. */
function between(wrap: (produce: Produce) => Produce): ProducerClient {
  const openCluster = (): ProducerCluster => {
    const cluster = kafka.openCluster();
    cluster.produce = wrap(cluster.produce.bind(cluster));
    return cluster;
  };
  return { openCluster, compressor: kafka.compressor };
}

const numbered = (topic: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ topic, key: 'user', value: String(i) }));

test('records arrive as given, in the order of their key', async () => {
  const topic = await makeTopic(kafka, 3);
  const headers = { postrider: 'text', raw: Buffer.from([0, 255]) };
  await producer.send([
    { topic, key: 'user', value: 'first', headers },
    { topic, key: Buffer.from('user'), value: Buffer.from('second') },
    { topic, key: 'user', value: null },
  ]);
  const records = await readAll(kafka, topic);
  assert.deepEqual(
    records.map(({ key, value }) => [key?.toString(), value?.toString()]),
    [
      ['user', 'first'],
      ['user', 'second'],
      ['user', undefined],
    ],
  );
  assert.equal(records[0]?.headers['postrider']?.toString(), 'text');
  assert.deepEqual(records[0].headers['raw'], Buffer.from([0, 255]));
  assert.equal(producer.queuedRecords, 0);
  assert.equal(producer.queuedBytes, 0);
});

test('a partition count is the topic’s', async () => {
  assert.equal(await producer.partitionCount(await makeTopic(kafka, 5)), 5);
});

test('a record that is too large is refused alone; its neighbours are written in order', async () => {
  const topic = await makeTopic(kafka, 1, { 'max.message.bytes': '20000' });
  const given = numbered(topic, 100);
  given.splice(50, 0, { topic, key: 'user', value: randomBytes(20_000).toString('hex') });
  await assert.rejects(producer.send(given), {
    code: 'record-refused',
    message: /topic .*MESSAGE_TOO_LARGE/,
  });
  assert.deepEqual(
    valuesOf(await readAll(kafka, topic)),
    Array.from({ length: 100 }, (_, i) => String(i)),
  );
});

test('2 MB for one partition go in batches that Kafka takes at once, although nothing compresses', async () => {
  const topic = await makeTopic(kafka, 1, { 'max.message.bytes': '1048576' });
  const given = Array.from({ length: 64 }, () => ({
    topic,
    key: 'user',
    value: randomBytes(32_768),
  }));
  const errors: string[] = [];
  const watched = await createProducer(
    between((produce) => async (nodeId, request) => {
      const answers = await produce(nodeId, request);
      errors.push(...answers.map(({ error }) => error));
      return answers;
    }),
    { log: silentLogger },
  );
  await watched.send(given);
  await watched.close(10_000);
  assert.deepEqual([...new Set(errors)], ['NONE']);
  assert.deepEqual(
    (await readAll(kafka, topic)).map(({ value }) => value),
    given.map(({ value }) => value),
  );
});

test('a record without a key is refused by a compacted topic; its neighbours are written', async () => {
  const topic = await makeTopic(kafka, 1, { 'cleanup.policy': 'compact' });
  const given = [...numbered(topic, 3), { topic, key: null, value: 'x' }, ...numbered(topic, 3)];
  await assert.rejects(producer.send(given), {
    code: 'record-refused',
    message: /INVALID_RECORD/,
  });
  assert.deepEqual(valuesOf(await readAll(kafka, topic)), ['0', '1', '2', '0', '1', '2']);
});

test('records wait for a topic that is not there yet, and hold up no other', async () => {
  const name = `${testPrefix()}later`;
  const waiting = producer.send(numbered(name, 3));
  const other = await makeTopic(kafka, 1);
  await producer.send(numbered(other, 3));
  await withAdmin(kafka, (admin) =>
    admin.createTopics([{ name, partitions: 1, replicationFactor: 1, config: {} }]),
  );
  await waiting;
  assert.equal((await readAll(kafka, name)).length, 3);
});

test('a partition that Kafka does not have yet is not taken for written', async () => {
  const topic = await makeTopic(kafka, 1);
  await producer.send(numbered(topic, 1));
  let isWritten = false;
  producer.produce({ topic, partition: 2, key: 'user', value: 'waits' }, () => {
    isWritten = true;
  });
  failures.length = 0;
  await eventually(() => {
    assert.ok(failures.includes('UNKNOWN_TOPIC_OR_PARTITION'));
  });
  assert.equal(isWritten, false);
  await withAdmin(kafka, (admin) => admin.extendPartitions([{ name: topic, partitions: 3 }]));
  await eventually(() => {
    assert.ok(isWritten);
  });
  assert.deepEqual(valuesOf(await readAll(kafka, topic)).sort(), ['0', 'waits']);
});

test('records for partitions that a topic no longer has, since it was made again, go to the others', async () => {
  const topic = await makeTopic(kafka, 6);
  const given = numbered(topic, 60).map((record) => ({ ...record, key: record.value }));
  await producer.send(given);
  await withAdmin(kafka, async (admin) => {
    await admin.deleteTopic(topic);
    await eventually(async () => {
      assert.deepEqual(await admin.topicNames(topic), []);
    });
    await admin.createTopics([{ name: topic, partitions: 3, replicationFactor: 1, config: {} }]);
  });
  await producer.send(given);
  assert.equal(new Set(valuesOf(await readAll(kafka, topic))).size, 60);
});

test('a topic that was deleted does not keep records from the others', async () => {
  const [gone, kept, fresh] = await Promise.all([1, 2, 3].map(() => makeTopic(kafka, 1)));
  assert.ok(gone !== undefined && kept !== undefined && fresh !== undefined);
  await producer.send([...numbered(gone, 1), ...numbered(kept, 1)]);
  await withAdmin(kafka, (admin) => admin.deleteTopic(gone));
  await producer.send([...numbered(fresh, 1), ...numbered(kept, 1)]);
  assert.equal((await readAll(kafka, fresh)).length, 1);
  assert.equal((await readAll(kafka, kept)).length, 2);
});

test('answers that get lost on their way write nothing twice', async () => {
  const topic = await makeTopic(kafka, 3);
  let answered = 0;
  const unlucky = await createProducer(
    between((produce) => async (nodeId, request) => {
      const answers = await produce(nodeId, request);
      answered += 1;
      if (answered % 3 > 0) throw new Error('the connection broke');
      return answers;
    }),
    { log: silentLogger },
  );
  const given = numbered(topic, 30).map((record, i) => ({ ...record, partition: i % 3 }));
  for (let i = 0; i < given.length; i += 5) await unlucky.send(given.slice(i, i + 5));
  await unlucky.close(10_000);
  assert.ok(answered > 12);
  const records = await readAll(kafka, topic);
  for (const partition of [0, 1, 2])
    assert.deepEqual(
      valuesOf(records.filter((record) => record.partition === partition)),
      given.filter((record) => record.partition === partition).map(({ value }) => value),
    );
});

test('a partition that misses a batch of this producer takes what comes in a new epoch', async () => {
  const topic = await makeTopic(kafka, 2);
  const failed: string[] = [];
  let isLost = false;
  const client = between((produce) => async (nodeId, request) => {
    // Like a log that was cut off before what it had acknowledged.
    if (isLost)
      return [
        { topic, partition: 0, error: 'NONE', baseOffset: 0, appendedMs: undefined, message: null },
      ];
    return produce(nodeId, request);
  });
  const bereft = await createProducer(client, {
    log: silentLogger,
    hooks: { failed: (reason) => failed.push(reason) },
  });
  const values = ['0', 'lost', '1', '2'];
  for (const value of values) {
    isLost = value === 'lost';
    await bereft.send([{ topic, partition: 0, key: null, value }]);
    isLost = false;
    await bereft.send([{ topic, partition: 1, key: null, value }]);
  }
  await bereft.close(10_000);
  assert.deepEqual(failed, ['OUT_OF_ORDER_SEQUENCE_NUMBER']);
  const records = await readAll(kafka, topic);
  const written = [0, 1].map((partition) =>
    valuesOf(records.filter((record) => record.partition === partition)),
  );
  assert.deepEqual(written, [['0', '1', '2'], values]);
});

test('closing writes what is queued first', async () => {
  const topic = await makeTopic(kafka, 3);
  const closing = await createProducer(kafka, { log: silentLogger });
  let acknowledged = 0;
  for (const record of numbered(topic, 1_000)) {
    closing.produce(record, () => {
      acknowledged += 1;
    });
  }
  await closing.close(30_000);
  assert.equal(acknowledged, 1_000);
  assert.equal((await readAll(kafka, topic)).length, 1_000);
});
