import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import kafkajs, { type ProducerBatch, type ProducerConfig, type RecordMetadata } from 'kafkajs';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { ProduceConnection } from '../../../src/kafka/produce/produce-connection.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { filledQueue, kafkaError } from '../batches.ts';

interface FakeProducer {
  readonly config: ProducerConfig;
  calls: ProducerBatch[];
  isDisconnected: boolean;
}

/** kafkajs with answers of our choice. */
function fakeKafka(answer: (batch: ProducerBatch, producer: number) => Promise<RecordMetadata[]>) {
  const producers: FakeProducer[] = [];
  const kafka = {
    producer: (config: ProducerConfig) => {
      const number = producers.length;
      const producer: FakeProducer = { config, calls: [], isDisconnected: false };
      producers.push(producer);
      return {
        connect: () => Promise.resolve(),
        disconnect: () => {
          producer.isDisconnected = true;
          return Promise.resolve();
        },
        sendBatch: (batch: ProducerBatch) => {
          producer.calls.push(batch);
          return answer(batch, number);
        },
      };
    },
  };
  const clock = new SimulatedClock();
  const connection = new ProduceConnection(kafka as unknown as KafkaClient, clock);
  return { connection, producers, clock };
}

const partitionsOf = (batch: ProducerBatch): RecordMetadata[] =>
  (batch.topicMessages ?? []).flatMap(({ topic, messages }) =>
    [...new Set(messages.map(({ partition }) => partition ?? 0))].map((partition) => ({
      topicName: topic,
      partition,
      errorCode: 0,
    })),
  );

const batch = [
  filledQueue('a', 0, 2).take(10, 1_000),
  { ...filledQueue('b', 0, 2).take(10, 1_000) },
];

test('a call counts when its answer names every partition', async () => {
  const { connection } = fakeKafka((sent) => Promise.resolve(partitionsOf(sent)));
  await connection.call(batch);
});

test('a call does not count when its answer leaves a partition out', async () => {
  const { connection } = fakeKafka((sent) => Promise.resolve(partitionsOf(sent).slice(1)));
  await assert.rejects(connection.call(batch), { name: 'PartitionUnanswered', message: /a\/0/ });
});

test('kafkajs is told to wait for all replicas, and not to retry by itself', async () => {
  const { connection, producers } = fakeKafka((sent) => Promise.resolve(partitionsOf(sent)));
  await connection.call(batch);
  const [producer] = producers;
  assert.equal(producer?.config.retry?.retries, 0);
  assert.equal(producer.config.allowAutoTopicCreation, false);
  const [call] = producer.calls;
  assert.equal(call?.acks, -1);
  assert.deepEqual(
    call.topicMessages?.map(({ topic }) => topic),
    ['a', 'b'],
  );
});

test('small batches are compressed with LZ4, large ones with zstd', async () => {
  const { connection, producers } = fakeKafka((sent) => Promise.resolve(partitionsOf(sent)));
  const { LZ4, ZSTD } = kafkajs.CompressionTypes;
  for (const [records, expected] of [
    [10, LZ4],
    [1_000, ZSTD],
  ] as const) {
    await connection.call(
      ['a', 'b'].map((topic) => filledQueue(topic, 0, records).take(records, 1e6)),
    );
    assert.equal(producers[0]?.calls.at(-1)?.compression, expected);
  }
});

test('a call that is never answered fails after 45 s, and the next uses a new connection', async () => {
  const { connection, producers, clock } = fakeKafka((sent, producer) =>
    producer === 0 ? new Promise(() => undefined) : Promise.resolve(partitionsOf(sent)),
  );
  const call = assert.rejects(connection.call(batch), { name: 'NoAnswer' });
  await clock.pass(45_000);
  await call;
  await connection.call(batch);
  assert.equal(producers.length, 2);
  assert.equal(producers[0]?.isDisconnected, true);
});

test('after a partition was left out, the next call uses a new connection', async () => {
  const { connection, producers } = fakeKafka((sent, producer) =>
    Promise.resolve(partitionsOf(sent).slice(producer === 0 ? 1 : 0)),
  );
  await assert.rejects(connection.call(batch));
  await connection.call(batch);
  assert.equal(producers.length, 2);
});

test('after a request that timed out, the next call uses a new connection', async () => {
  const timeout = Object.assign(new Error('timed out'), { name: 'KafkaJSRequestTimeoutError' });
  const { connection, producers } = fakeKafka((sent, producer) =>
    producer === 0 ? Promise.reject(timeout) : Promise.resolve(partitionsOf(sent)),
  );
  await assert.rejects(connection.call(batch));
  await connection.call(batch);
  assert.equal(producers.length, 2);
});

test('after three failures in a row, the next call uses a new connection', async () => {
  const { connection, producers } = fakeKafka(() =>
    Promise.reject(kafkaError('UNKNOWN_TOPIC_OR_PARTITION')),
  );
  for (let i = 0; i < 4; i += 1) await assert.rejects(connection.call(batch));
  assert.deepEqual(
    producers.map(({ calls }) => calls.length),
    [3, 1],
  );
});

test('refused records are no reason for a new connection', async () => {
  const { connection, producers } = fakeKafka(() =>
    Promise.reject(kafkaError('MESSAGE_TOO_LARGE')),
  );
  for (let i = 0; i < 10; i += 1) await assert.rejects(connection.call(batch));
  assert.equal(producers.length, 1);
});

test('an old connection is closed only when its last call has ended', async () => {
  const open = Promise.withResolvers<RecordMetadata[]>();
  let calls = 0;
  const { connection, producers } = fakeKafka(() => {
    calls += 1;
    return calls === 1 ? open.promise : Promise.reject(kafkaError('LEADER_NOT_AVAILABLE'));
  });
  const first = connection.call(batch);
  await setImmediate();
  for (let i = 0; i < 3; i += 1) await assert.rejects(connection.call(batch));
  const [old] = producers;
  assert.ok(old?.calls[0] !== undefined);
  assert.equal(old.isDisconnected, false);
  open.resolve(partitionsOf(old.calls[0]));
  await first;
  assert.equal(old.isDisconnected, true);
});
