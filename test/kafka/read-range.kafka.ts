import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import { withAdmin, type OffsetRange } from '../../src/kafka/admin.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { makeTopic, readAll, testKafka, valuesOf, withRawAdmin } from './topics.ts';

const kafka = await testKafka();
const producer = await createProducer(kafka, { log: silentLogger });
after(() => producer.close(10_000));

async function filledTopic(partitions: number, count: number, config = {}): Promise<string> {
  const topic = await makeTopic(kafka, partitions, config);
  await producer.send(
    Array.from({ length: count }, (_, i) => ({
      topic,
      key: null,
      value: String(i),
      partition: i % partitions,
    })),
  );
  return topic;
}

const offsets = (topic: string): Promise<OffsetRange[]> =>
  withAdmin(kafka, (admin) => admin.offsets(topic));

async function readGroups(topic: string): Promise<string[]> {
  const { groups } = await withRawAdmin(kafka, (raw) => raw.listGroups());
  return groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith(topic));
}

test('exactly the ranges are read, each partition in its order', async () => {
  const topic = await filledTopic(3, 3_000);
  const ranges = [
    { partition: 0, start: 100, end: 900 },
    { partition: 2, start: 0, end: 10 },
  ];
  const seen: Record<number, number[]> = {};
  for await (const { partition, offset } of readRange(kafka, { topic, ranges }))
    (seen[partition] ??= []).push(offset);
  assert.deepEqual(Object.keys(seen), ['0', '2']);
  assert.deepEqual(
    seen[0],
    Array.from({ length: 800 }, (_, i) => 100 + i),
  );
  assert.deepEqual(
    seen[2],
    Array.from({ length: 10 }, (_, i) => i),
  );
});

test('records written meanwhile are not read', async () => {
  const topic = await filledTopic(1, 10);
  const ranges = await offsets(topic);
  await producer.send([{ topic, key: null, value: 'late' }]);
  let count = 0;
  for await (const { value } of readRange(kafka, { topic, ranges })) {
    assert.notEqual(String(value), 'late');
    count += 1;
  }
  assert.equal(count, 10);
});

test('an empty range ends at once', async () => {
  const topic = await makeTopic(kafka, 3);
  assert.deepEqual(await readAll(kafka, topic), []);
});

test('a reader that takes its time gets each record once', async () => {
  const topic = await filledTopic(2, 400);
  const ranges = await offsets(topic);
  const values: string[] = [];
  for await (const { value } of readRange(kafka, { topic, ranges })) {
    values.push(String(value));
    if (values.length === 5) await delay(500);
  }
  assert.equal(values.length, 400);
  assert.equal(new Set(values).size, 400);
});

test('a reader that stops early leaves neither a group nor a connection', async () => {
  const topic = await filledTopic(1, 100);
  const ranges = await offsets(topic);
  const before = connections();
  for await (const { value } of readRange(kafka, { topic, ranges })) {
    assert.equal(String(value), '0');
    break;
  }
  assert.deepEqual(await readGroups(topic), []);
  await eventually(() => {
    assert.ok(connections() <= before, `${connections()} connections, ${before} before`);
  });
});

function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

test('records that retention has removed are left out', async () => {
  const topic = await filledTopic(2, 20);
  const ranges = await offsets(topic);
  const partitions = [
    { partition: 0, offset: '-1' },
    { partition: 1, offset: '4' },
  ];
  await withRawAdmin(kafka, async (raw) => {
    // It must know the leaders first.
    await raw.fetchTopicOffsets(topic);
    await raw.deleteTopicRecords({ topic, partitions });
  });
  const seen: number[] = [];
  for await (const { partition, offset } of readRange(kafka, { topic, ranges })) {
    assert.equal(partition, 1);
    seen.push(offset);
  }
  assert.deepEqual(seen, [4, 5, 6, 7, 8, 9]);
});

async function transactional(): Promise<Producer> {
  const raw = kafka.producer({
    transactionalId: testPrefix(),
    maxInFlightRequests: 1,
    idempotent: true,
    createPartitioner: () => () => 0,
  });
  await raw.connect();
  return raw;
}

test('without ranges all is read that was written, also behind a transaction that is open', async () => {
  const topic = await makeTopic(kafka, 2);
  const raw = await transactional();
  const transaction = await raw.transaction();
  await transaction.send({ topic, messages: [{ value: 'aborted' }] });
  await producer.send([{ topic, key: null, value: 'behind', partition: 0 }]);
  await producer.send([{ topic, key: null, value: 'beside', partition: 1 }]);
  const reading = readAll(kafka, topic);
  const first = await Promise.race([reading, delay(1_000, 'waits')]);
  assert.equal(first, 'waits');
  await transaction.abort();
  await raw.disconnect();
  assert.deepEqual(valuesOf(await reading).sort(), ['behind', 'beside']);
});

test('a range that ends with the marker of a transaction ends', async () => {
  const topic = await makeTopic(kafka, 1);
  const raw = await transactional();
  for (const value of ['committed', 'aborted']) {
    const transaction = await raw.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    await (value === 'aborted' ? transaction.abort() : transaction.commit());
  }
  await raw.disconnect();
  assert.deepEqual(valuesOf(await readAll(kafka, topic)), ['committed']);
});

test('a missing topic is an error', async () => {
  const topic = `${testPrefix()}missing`;
  const ranges = [{ partition: 0, start: 0, end: 1 }];
  await assert.rejects(
    async () => {
      for await (const record of readRange(kafka, { topic, ranges })) assert.fail(record.topic);
    },
    { code: 'not-found' },
  );
});
