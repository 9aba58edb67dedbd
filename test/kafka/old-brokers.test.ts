import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachKafka, type ReachOptions } from '../../src/kafka/reach.ts';
import { startOldBroker } from './old-broker.ts';

const someId = 'ab'.repeat(16);

const reach: ReachOptions = {
  onWaiting: (text) => {
    throw new Error(text);
  },
  explain: (problem) => problem,
};

test('a broker that is too old is told at once, in one sentence', async (t) => {
  const address = await startOldBroker(t, { metadata: 11, topicId: someId });
  const kafka = { brokers: [address], clientId: 'test' };
  await assert.rejects(reachKafka(kafka, reach), {
    code: 'kafka-refused',
    message: `The broker ${address} does not support version 12 of Metadata: Kafka 3.1 or newer is required`,
  });
});

test('a broker that is new enough is reached', async (t) => {
  const address = await startOldBroker(t, { metadata: 12, topicId: someId });
  const kafka = { brokers: [address], clientId: 'test' };
  await reachKafka(kafka, reach);
});
