import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { limitConnections, networkOf } from '../../src/ops/connection-limit.ts';

/** Connections in turn, of which each is open or was closed by the server. */
async function opened(
  t: TestContext,
  limit: Parameters<typeof limitConnections>[1],
  count: number,
): Promise<{ readonly sockets: readonly Socket[]; readonly more: () => Promise<boolean> }> {
  const server = createServer();
  limitConnections(server, limit);
  server.on('connection', (socket) => {
    socket.on('error', () => undefined);
    if (!socket.destroyed) socket.write('.');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const more = async (): Promise<boolean> => {
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => undefined);
    const ends = ['data', 'close'].map(async (name) => {
      await once(socket, name);
      return name;
    });
    return (await Promise.race(ends)) === 'data';
  };
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  for (let place = 0; place < count; place += 1) assert.ok(await more(), String(place));
  return { sockets, more };
}

test('a client that has its connections gets no more until one of them is closed', async (t) => {
  const limit = { most: 100, mostOfClient: 3, exempt: ['10.0.0.0/8'] };
  const { sockets, more } = await opened(t, limit, 3);
  assert.equal(await more(), false);
  const [first] = sockets;
  assert.ok(first);
  first.destroy();
  await once(first, 'close');
  // The server hears of it a moment later.
  while (!(await more()));
});

test('a named proxy is many clients, and all together are bounded too', async (t) => {
  const limit = { most: 5, mostOfClient: 3, exempt: ['127.0.0.0/8'] };
  const { more } = await opened(t, limit, 5);
  assert.equal(await more(), false);
});

test('whoever has one IPv6 address has its /64, and IPv4 may be written as IPv6', () => {
  assert.equal(networkOf('2001:db8:1:2:3::4'), networkOf('2001:db8:1:2:ffff::1'));
  assert.notEqual(networkOf('2001:db8:1:2:3::4'), networkOf('2001:db8:1:3::4'));
  assert.equal(networkOf('::ffff:10.0.0.1'), '10.0.0.1');
});
