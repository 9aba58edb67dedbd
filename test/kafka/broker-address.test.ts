import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { withAdmin } from '../../src/kafka/admin.ts';
import { brokerText, parseBroker } from '../../src/kafka/broker-address.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';

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
