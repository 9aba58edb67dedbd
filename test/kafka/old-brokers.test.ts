import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKafka } from '../../src/kafka/client.ts';
import { reachKafka, type ReachOptions } from '../../src/kafka/reach.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startOldBroker } from './old-broker.ts';

const someId = 'ab'.repeat(16);
/** As brokers describe topics while `inter.broker.protocol.version` is below 2.8. */
const noId = '00'.repeat(16);

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

test('topics without ids are told with what gives them ids, because they cannot be read', async (t) => {
  const address = await startOldBroker(t, { metadata: 12, topicId: noId });
  const kafka = createKafka({ brokers: [address], clientId: 'test' }, silentLogger);
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await assert.rejects(cluster.refresh(['t']), {
    code: 'kafka-refused',
    message:
      'Topic t has no id, by which it is read: inter.broker.protocol.version of all brokers must be 2.8 or newer',
  });
});
