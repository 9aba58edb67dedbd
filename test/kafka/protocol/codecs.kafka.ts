import assert from 'node:assert/strict';
import { test } from 'node:test';
import kafkajs from 'kafkajs';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { makeTopic, readAll, testKafka, valuesOf } from '../topics.ts';

const kafka = await testKafka();
const values = Array.from({ length: 2_000 }, (_, i) => `value ${i} ${'abc'.repeat(i % 50)}`);

for (const name of ['GZIP', 'Snappy', 'LZ4', 'ZSTD'] as const) {
  test(`what Kafka’s own Java code compresses with ${name} is read`, async () => {
    const topic = await makeTopic(kafka, 1, { 'compression.type': name.toLowerCase() });
    const producer = await createProducer(kafka, { log: silentLogger });
    await producer.send(values.map((value) => ({ topic, key: 'user', value })));
    await producer.close(10_000);
    assert.deepEqual(valuesOf(await readAll(kafka, topic)), values);
  });

  test(`Kafka’s own Java code reads what is compressed with ${name} here`, async () => {
    const topic = await makeTopic(kafka, 1, { 'compression.type': 'uncompressed' });
    const producer = kafka.producer({ createPartitioner: () => () => 0 });
    await producer.connect();
    const compression = kafkajs.CompressionTypes[name];
    await producer.send({ topic, compression, messages: values.map((value) => ({ value })) });
    await producer.disconnect();
    assert.deepEqual(valuesOf(await readAll(kafka, topic)), values);
  });
}
