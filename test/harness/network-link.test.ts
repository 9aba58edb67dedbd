import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { eventually } from './eventually.ts';
import { startNetworkLink, type NetworkFault, type NetworkLink } from './network-link.ts';

/** Sends back what it gets. */
const echo = createServer((socket) => {
  socket.on('error', () => undefined).pipe(socket);
}).listen(0, '127.0.0.1');
await once(echo, 'listening');
after(() => echo.close());

interface Client {
  readonly socket: Socket;
  readonly heard: () => string;
}

async function scene(t: TestContext): Promise<{ link: NetworkLink; open: () => Client }> {
  const link = await startNetworkLink();
  link.leadTo((echo.address() as AddressInfo).port);
  t.after(() => link.close());
  const open = (): Client => {
    let text = '';
    const socket = connect(link.port, '127.0.0.1');
    socket.on('error', () => undefined).on('data', (bytes) => (text += bytes.toString()));
    t.after(() => socket.destroy());
    return { socket, heard: () => text };
  };
  return { link, open };
}

async function answered({ socket, heard }: Client, said: string): Promise<void> {
  socket.write(said);
  await eventually(() => {
    assert.ok(heard().endsWith(said), `heard ${heard()}`);
  });
}

async function closed({ socket }: Client): Promise<void> {
  await eventually(() => {
    assert.ok(socket.closed);
  });
}

/** When an answer would have come, if one came. */
async function passes(link: NetworkLink, open: () => Client, fault: NetworkFault): Promise<void> {
  link.set(undefined);
  await answered(open(), 'a later one');
  link.set(fault);
}

test('what is sent through a stalled network arrives when it is mended', async (t) => {
  const { link, open } = await scene(t);
  const client = open();
  await answered(client, 'before');
  link.set('stalled');
  client.socket.write(' during');
  const later = open();
  later.socket.write('new');
  assert.equal(client.heard(), 'before');
  link.set(undefined);
  await eventually(() => {
    assert.deepEqual([client.heard(), later.heard()], ['before during', 'new']);
  });
});

test('a connection that a half-open network has swallowed something of stays silent, new ones work', async (t) => {
  const { link, open } = await scene(t);
  const [client, idle] = [open(), open()];
  await answered(client, 'before');
  await answered(idle, 'idle');
  link.set('half-open');
  client.socket.write(' during');
  await eventually(() => {
    assert.equal(link.hits['half-open'], 1);
  });
  await passes(link, open, 'half-open');
  link.set(undefined);
  client.socket.write(' after');
  await answered(idle, ' after');
  assert.equal(client.heard(), 'before');
});

test('a cut resets those that are open and those that come, of the address that it is for', async (t) => {
  const { link, open } = await scene(t);
  const client = open();
  await answered(client, 'before');
  link.set('cut', '127.0.0.1');
  await closed(client);
  await closed(open());
  link.set('cut', '127.0.0.77');
  link.set(undefined, '127.0.0.1');
  await answered(open(), 'after');
});

test('a slow network delays and keeps the order', async (t) => {
  const { link, open } = await scene(t);
  const client = open();
  await answered(client, 'before');
  link.set('slow');
  const fromMs = performance.now();
  for (const word of [' a', ' b', ' c']) client.socket.write(word);
  await eventually(() => {
    assert.equal(client.heard(), 'before a b c');
  });
  assert.ok(performance.now() - fromMs > 350);
});

test('the end of a connection passes', async (t) => {
  const { open } = await scene(t);
  const client = open();
  await answered(client, 'before');
  client.socket.end();
  await closed(client);
});
