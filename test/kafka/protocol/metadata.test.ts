import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import { brokerText, metadataExchange, parseBroker } from '../../../src/kafka/protocol/metadata.ts';
import { silentLogger } from '../../../src/ops/log.ts';

const exchange = metadataExchange([]);

/** An answer about one topic with partitions of these numbers, each with a leader of that number too. */
function answer(partitions: readonly number[]): Buffer {
  const writer = new ByteWriter(64).noTags().int32(0);
  writer.compactArray([], () => undefined);
  writer.compactString('cluster').int32(1);
  writer.compactArray(['t'], (name) => {
    writer.int16(0).compactString(name).uuid('ab'.repeat(16)).boolean(false);
    writer.compactArray(partitions, (partition) => {
      writer.int16(0).int32(partition).int32(partition).int32(5);
      for (const nodeIds of [[1, 2, 3], [1, 3], [2]])
        writer.compactArray(nodeIds, (nodeId) => writer.int32(nodeId));
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}

test('partitions stand at their own numbers, in whatever order they come', () => {
  const [topic] = exchange.decode(answer([2, 0, 1])).topics;
  assert.deepEqual(
    topic?.partitions.map(({ leader }) => leader),
    [0, 1, 2],
  );
});

test('a partition has its leader, the epoch of that, and the replicas in sync', () => {
  const [topic] = exchange.decode(answer([0])).topics;
  assert.deepEqual(topic?.partitions, [{ leader: 0, epoch: 5, inSync: [1, 3] }]);
});

test('a number that no partition of the topic can have makes no list of that length', () => {
  for (const partition of [-1, 2, 0x7fffffff])
    assert.throws(() => exchange.decode(answer([0, partition])), {
      name: 'RangeError',
      message: `a topic of 2 partitions has one with the number ${partition}`,
    });
});

test('a broker has a name, an IPv4 address or an IPv6 address in brackets', () => {
  for (const [text, host] of [
    ['kafka.example.com:9092', 'kafka.example.com'],
    ['10.0.0.1:9092', '10.0.0.1'],
    ['[2001:db8::1]:9092', '2001:db8::1'],
  ] as const) {
    assert.deepEqual(parseBroker(text), { host, port: 9_092 });
    assert.equal(brokerText(parseBroker(text)), text);
  }
});

test('a broker with an IPv6 address is connected to by readers, producers and admins', async (t) => {
  const connected: string[] = [];
  const server = createServer((socket) => {
    connected.push(socket.remoteAddress ?? '');
    socket.destroy();
  });
  server.listen(0, '::1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const brokers = [`[::1]:${port}`];
  const kafka = createKafka({ brokers, clientId: 'test', retries: 0 }, silentLogger);

  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await assert.rejects(cluster.refresh([]));
  assert.deepEqual(connected, ['::1']);
  await assert.rejects(withAdmin(kafka, (admin) => admin.brokerCount()));
  assert.deepEqual(connected, ['::1', '::1']);
});
