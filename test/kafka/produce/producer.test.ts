import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';

test('Kafka being away at the start is waited out, and said', async () => {
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields, message) => lines.push(message) };
  let connects = 0;
  const kafka = {
    producer: () => ({
      connect: () => {
        connects += 1;
        const error = Object.assign(new Error('ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
        return connects < 3 ? Promise.reject(error) : Promise.resolve();
      },
      disconnect: () => Promise.resolve(),
    }),
  };
  const producer = await createProducer(kafka as unknown as KafkaClient, { log });
  await producer.close(0);
  assert.deepEqual(lines, Array(2).fill('Kafka cannot be reached, trying again: ECONNREFUSED'));
});
