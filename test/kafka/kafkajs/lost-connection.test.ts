import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import type { ProducerCluster } from '../../../src/kafka/cluster/writing-cluster.ts';
import { createProducingClient } from '../../../src/kafka/producing-client.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  apiVersionsKey,
  metadataAnswer,
  metadataKey,
  nodeId,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const topicId = 'ab'.repeat(16);

/** A broker whose first answer about topics ends, with its connection, after so many bytes. Its address. */
async function startCuttingBroker(
  t: TestContext,
  newest: number,
  cutAtBytes: number,
): Promise<string> {
  let cuts = 0;
  return startWireBroker(t, ({ apiKey, port, framed }, socket) => {
    if (apiKey === apiVersionsKey) socket.write(framed(versionsAnswer({ [metadataKey]: newest })));
    if (apiKey !== metadataKey) return;
    const answer = framed(newest === 0 ? firstMetadataAnswer(port) : metadataAnswer(port, topicId));
    if (cuts++ > 0) socket.write(answer);
    else socket.end(answer.subarray(0, cutAtBytes));
  });
}

/** Metadata, version 0: brokers, and no topics. */
function firstMetadataAnswer(port: number): Buffer {
  const writer = new ByteWriter(64);
  writer.array([nodeId], (id) => writer.int32(id).string('127.0.0.1').int32(port));
  return writer.array([], () => undefined).buffer;
}

async function askTwice(t: TestContext, cluster: ProducerCluster): Promise<void> {
  t.after(() => {
    cluster.close();
  });
  await assert.rejects(cluster.refresh(['t']));
  await cluster.refresh(['t']);
  assert.equal(cluster.topic('t')?.id, topicId);
}

describe('of an answer that ends with its connection, nothing is left when the next one comes', () => {
  // Within the length of the answer, behind it, and in the middle.
  for (const cutAtBytes of [3, 8, 20]) {
    test(`for records, after ${cutAtBytes} bytes`, async (t) => {
      const brokers = [await startCuttingBroker(t, 12, cutAtBytes)];
      const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
      await askTwice(t, kafka.openCluster());
    });

    test(`for the client library, after ${cutAtBytes} bytes`, async (t) => {
      const brokers = [await startCuttingBroker(t, 12, cutAtBytes)];
      const options = { brokers, clientId: 'test', ssl: undefined, sasl: undefined };
      await askTwice(t, createProducingClient(options, silentLogger).openCluster());
    });

    test(`for administration and transactions, after ${cutAtBytes} bytes`, async (t) => {
      const brokers = [await startCuttingBroker(t, 0, cutAtBytes)];
      const admin = createKafka({ brokers, clientId: 'test' }, silentLogger).admin();
      t.after(() => admin.disconnect());
      await admin.connect();
      await assert.rejects(admin.describeCluster());
      const { brokers: described } = await admin.describeCluster();
      assert.deepEqual(
        described.map((broker) => broker.nodeId),
        [nodeId],
      );
    });
  }
});
