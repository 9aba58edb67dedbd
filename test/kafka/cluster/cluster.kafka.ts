import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { testBroker } from '../../harness/broker.ts';
import { eventually } from '../../harness/eventually.ts';
import { makeTopic, testKafka } from '../topics.ts';

const kafka = await testKafka();

function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

test('a cluster that is closed leaves no connection, though it was about to make one', async () => {
  const topic = await makeTopic(kafka, 1);
  const before = connections();
  const cluster = kafka.openCluster();
  const connecting = cluster.refresh([topic]);
  cluster.close();
  await assert.rejects(connecting);
  await assert.rejects(cluster.refresh([topic]), { code: 'stopped' });
  await eventually(() => {
    assert.ok(connections() <= before);
  });
});

test('brokers that are not there, or hang, keep nobody from the one that answers', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const { brokers } = await testBroker();
  const seeds = ['127.0.0.1:1', `127.0.0.1:${port}`, ...brokers];
  const client = createKafka({ brokers: seeds, clientId: 'test' }, silentLogger);
  const cluster = client.openCluster();
  t.after(() => {
    cluster.close();
  });
  const topic = await makeTopic(kafka, 1);
  await cluster.refresh([topic]);
  assert.equal(cluster.topic(topic)?.partitions.length, 1);
  // From now on it knows whom to ask.
  const tookMs: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const startMs = performance.now();
    await cluster.refresh([topic]);
    tookMs.push(performance.now() - startMs);
  }
  assert.ok(Math.min(...tookMs) < 1_000, tookMs.join());
});
