import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  apiVersionsKey,
  describedBy,
  metadataKey,
  produceKey,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const topicId = 'ab'.repeat(16);

test('who does not get an answer to a write asks another broker first who leads', async (t) => {
  const ports: number[] = [];
  const addresses: string[] = [];
  /** The brokers that were asked about topics, by their node ids. */
  const asked: number[] = [];
  for (const node of [1, 2, 3])
    addresses.push(
      await startWireBroker(t, ({ apiKey, framed }, socket) => {
        if (apiKey === apiVersionsKey)
          socket.write(framed(versionsAnswer({ [metadataKey]: 12, [produceKey]: 8 })));
        if (apiKey === produceKey) socket.destroy();
        if (apiKey !== metadataKey) return;
        asked.push(node);
        socket.write(framed(describedBy(ports, topicId, { leader: node, epoch: 0 })));
      }),
    );
  ports.push(...addresses.map((address) => Number(address.split(':')[1])));
  const kafka = createKafka({ brokers: addresses, clientId: 'test' }, silentLogger);
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh(['t']);
  for (let n = 0; n < 3; n += 1) await cluster.refreshInTurn(['t']);
  for (let n = 0; n < 12; n += 1) {
    // Without the write, it would be its turn.
    const [next = 0] = asked.slice(-3);
    const batch = { partition: 0, batch: Buffer.alloc(0) };
    const topics = [{ topic: 't', partitions: [batch] }];
    await assert.rejects(cluster.produce(next, { timeoutMs: 1_000, topics }));
    await cluster.refreshInTurn(['t']);
    assert.notEqual(asked.at(-1), next);
  }
});
