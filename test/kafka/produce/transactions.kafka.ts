import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  openTransactions,
  placeName,
  type PlacedRecord,
} from '../../../src/kafka/produce/transactions.ts';
import { eventually } from '../../harness/eventually.ts';
import { makeTopic, readAll, testKafka, valuesOf } from '../topics.ts';

const kafka = await testKafka();

function anyId(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

function placed(topic: string, partition: number, value: string): PlacedRecord {
  return { topic, partition, key: 'u', value };
}

/** A process that was killed in the middle: its records are written and nothing was decided. */
async function leaveOpen(transactionalId: string, records: readonly PlacedRecord[]): Promise<void> {
  const producer = kafka.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  const transaction = await producer.transaction();
  for (const { topic, partition, key, value } of records)
    await transaction.send({ topic, messages: [{ partition, key, value }] });
  await producer.disconnect();
}

/** Kafka says that a transaction is committed before its partitions show it. */
async function untilCommitted(topic: string, expected: readonly string[]): Promise<void> {
  await eventually(async () => {
    assert.deepEqual(valuesOf(await readAll(kafka, topic)).sort(), expected);
  });
}

test('records of several topics and partitions are committed together, and their ends are told', async () => {
  const [one, two] = [await makeTopic(kafka, 2), await makeTopic(kafka, 1)];
  const transactions = await openTransactions(kafka, anyId());
  const first = await transactions.write([
    placed(one, 0, 'a'),
    placed(one, 1, 'b'),
    placed(one, 1, 'c'),
    { topic: two, partition: 0, key: 'gone', value: null, headers: { source: 'shop' } },
  ]);
  const ends = [placeName(one, 0), placeName(one, 1), placeName(two, 0)];
  assert.deepEqual(
    ends.map((name) => first.get(name)),
    [1, 2, 1],
  );
  const second = await transactions.write([placed(one, 1, 'd')]);
  // Behind the marker of the first transaction.
  assert.equal(second.get(placeName(one, 1)), 4);
  await untilCommitted(one, ['a', 'b', 'c', 'd']);
  await untilCommitted(two, ['null']);
  const [tombstone] = await readAll(kafka, two);
  assert.equal(tombstone?.value, null);
  assert.equal(String(tombstone.headers['source']), 'shop');
  await transactions.close();
});

test('whoever opens an id fences the one before, of whom nothing more is seen', async () => {
  const topic = await makeTopic(kafka, 1);
  const id = anyId();
  const older = await openTransactions(kafka, id);
  await older.write([placed(topic, 0, 'before')]);
  const newer = await openTransactions(kafka, id);
  await assert.rejects(older.write([placed(topic, 0, 'too late')]), { code: 'fenced' });
  await newer.write([placed(topic, 0, 'after')]);
  await untilCommitted(topic, ['after', 'before']);
  await Promise.all([older.close(), newer.close()]);
});

test('what a killed process left open is aborted by opening its id again, and never seen', async () => {
  const topic = await makeTopic(kafka, 1);
  const ids = [anyId(), anyId()];
  // Interleaved, so that a fetch may begin inside two of them.
  for (const id of ids) await leaveOpen(id, [placed(topic, 0, 'lost'), placed(topic, 0, 'lost')]);
  const opened = [];
  for (const id of ids) opened.push(await openTransactions(kafka, id));
  for (const each of opened) await each.write([placed(topic, 0, 'kept')]);
  await untilCommitted(topic, ['kept', 'kept']);
  for (const each of opened) await each.close();
});

test('a record that Kafka does not take is refused with its neighbours', async () => {
  const topic = await makeTopic(kafka, 1, { 'max.message.bytes': '20000' });
  const transactions = await openTransactions(kafka, anyId());
  const large = placed(topic, 0, randomBytes(20_000).toString('hex'));
  const write = transactions.write([placed(topic, 0, 'small'), large]);
  await assert.rejects(write, { code: 'record-refused' });
  assert.deepEqual(await readAll(kafka, topic), []);
  await transactions.close();
});
