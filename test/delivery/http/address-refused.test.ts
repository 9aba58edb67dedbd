import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { AddressGuard } from '../../../src/delivery/http/address-guard.ts';
import { urlProblem } from '../../../src/resources/schema/texts.ts';
import { noUrls, toLoopback, toOtherPlaces } from './address-spellings.ts';
import { createSender, http, leadingTo, listen, post } from './sender-scene.ts';

let clientSockets = 0;
subscribe('net.client.socket', () => {
  clientSockets += 1;
});

describe('an address that is not public', () => {
  const strict = createSender({ allowNetworks: [] });
  let accepted = 0;
  const listener = createTcpServer(() => {
    accepted += 1;
  });

  test('is refused in every spelling that leads to this machine, and nothing connects', async () => {
    const port = await listen(listener);
    for (const scheme of ['http', 'https'])
      for (const host of toLoopback) {
        const { verdict } = await post(`${scheme}://${host}:${port}/`, { sender: strict });
        assert.equal(verdict, 'dead letter address-refused', host);
      }
    assert.equal(accepted, 0);
  });

  test('would be reached in each of these spellings, were it allowed', async () => {
    const { port } = new URL(await http((_request, response) => response.end()));
    for (const host of toLoopback)
      assert.equal((await post(`http://${host}:${port}/`)).verdict, 'delivered', host);
  });

  test('is refused in every spelling of every other place, before there is a socket', async () => {
    const port = await listen(createTcpServer());
    const before = clientSockets;
    for (const host of toOtherPlaces) {
      const { verdict } = await post(`http://${host}:${port}/`, { sender: strict });
      assert.equal(verdict, 'dead letter address-refused', host);
    }
    assert.equal(clientSockets, before);
  });

  test('is refused with the name of the setting that can allow it, however it was found', async () => {
    const { port } = new URL(await http((_request, response) => response.end()));
    for (const host of ['127.0.0.1', 'localhost']) {
      const { outcome } = await post(`http://${host}:${port}/`, { sender: strict });
      assert.deepEqual(outcome, {
        kind: 'permanent',
        reason: 'address-refused',
        detail: '127.0.0.1 is not a public address; DELIVERY_ALLOW_NETWORKS can allow it',
      });
    }
  });

  test('gets into no destination in any spelling that is not a plain host', () => {
    for (const url of noUrls) assert.notEqual(urlProblem(url), undefined, url);
  });

  test('has been tried in enough spellings for all of this to mean something', () => {
    assert.ok(new Set([...toLoopback, ...toOtherPlaces]).size >= 120);
  });

  test('is refused on the connection too, should it get that far, and is sent nothing', async () => {
    let bytes = 0;
    const server = createTcpServer((socket) => {
      socket.on('data', ({ length }) => (bytes += length));
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    /** Takes the name server's word for it, and sees the truth only on the connection. */
    class Gullible extends AddressGuard {
      #asked = 0;

      override allows(): boolean {
        this.#asked += 1;
        return this.#asked === 1;
      }
    }
    const resolver = leadingTo('127.0.0.1');
    for (const [host, expected] of [
      ['rebound.example', 'retryable: dns'],
      ['127.0.0.1', 'dead letter address-refused'],
    ] as const) {
      const sender = createSender({ guard: new Gullible([]), resolver });
      const { verdict } = await post(`http://${host}:${port}/`, { sender });
      assert.equal(verdict, expected);
    }
    server.close();
    await new Promise((resolve) => server.once('close', resolve));
    assert.equal(bytes, 0);
  });

  test('is let through where the operator named its network, and only that', async () => {
    const { port } = new URL(await http((_request, response) => response.end()));
    const sender = createSender({ allowNetworks: ['127.0.0.0/8'] });
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost', 'api.localhost.'])
      assert.equal((await post(`http://${host}:${port}/`, { sender })).verdict, 'delivered', host);
    for (const host of ['[::1]', '0.0.0.0', '10.0.0.1', '[::127.0.0.1]', '[64:ff9b::10.0.0.1]'])
      assert.equal(
        (await post(`http://${host}:${port}/`, { sender })).verdict,
        'dead letter address-refused',
        host,
      );
  });
});

test('a connection whose other side has hung up, and has no address any more, may be made again', async () => {
  const url = await http((_request, response) => response.end());
  const forgetAddress = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    Object.defineProperty(socket, 'remoteAddress', { value: undefined });
  };
  subscribe('net.client.socket', forgetAddress);
  const { outcome } = await post(url, { sender: createSender() });
  unsubscribe('net.client.socket', forgetAddress);
  assert.ok(outcome.kind === 'retryable' && outcome.cause === 'connection');
  assert.equal(outcome.unreached, undefined);
});
