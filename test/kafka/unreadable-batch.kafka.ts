import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import { startConsumeLoop } from '../../src/kafka/consume/consume-loop.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { maxUnpackedBytes } from '../../src/kafka/protocol/codecs.ts';
import { testBroker } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeLogger } from './fake-logger.ts';
import { makeTopic, readAll, testKafka } from './topics.ts';

const kafka = await testKafka();

/** As somebody writes who means harm: Kafka looks at the size of what is compressed alone. */
async function writeBomb(topic: string): Promise<void> {
  const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => Promise.resolve(zstdCompressSync(buffer)),
    decompress: (bytes: Buffer) => Promise.resolve(bytes),
  });
  const { brokers } = await testBroker();
  const producer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  const send = (partition: number, value: string | Buffer, compression = CompressionTypes.None) =>
    producer.send({ topic, compression, messages: [{ partition, key: 'user', value }] });
  await send(0, 'before');
  await send(0, Buffer.alloc(maxUnpackedBytes), CompressionTypes.ZSTD);
  await send(0, 'behind');
  await send(1, 'elsewhere');
  await producer.disconnect();
}

test('a batch that cannot be read stops its own partition alone, and somebody is told where', async () => {
  const config = { 'message.timestamp.type': 'LogAppendTime' };
  const topic = await makeTopic(kafka, 2, config);
  await writeBomb(topic);
  const log = new FakeLogger();
  const values: string[] = [];
  const crashes: Error[] = [];
  const loop = startConsumeLoop(kafka, {
    groupId: `${topic}.group`,
    topics: [topic],
    windowRecords: 100,
    windowBytes: 100_000,
    clock: systemClock,
    log,
    onCrash: (error) => crashes.push(error),
    onRecords: (records) => {
      for (const record of records) {
        values.push(String(record.value));
        record.finish();
      }
    },
  });
  await eventually(() => {
    assert.deepEqual([...values].sort(), ['before', 'elsewhere']);
    const told = log.lines.find(({ message }) => message.includes('cannot be read'));
    const { partition, offset } = (told?.fields ?? {}) as { partition?: number; offset?: number };
    assert.deepEqual([told?.level, partition, offset], ['error', 0, 1]);
  });
  assert.deepEqual(crashes, []);
  await loop.stop(5_000);
  await assert.rejects(readAll(kafka, topic), {
    code: 'input-invalid',
    message: `the records of partition 0 of ${topic} at offset 1 cannot be read`,
  });
});
