import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { Client } from 'undici';
import { adjustParser, parserOf } from '../../../src/delivery/http/undici-parser.ts';
import { closeAfterwards, rawServer } from './sender-scene.ts';

/** Everything of undici that `undici-parser.ts` relies on and its types don't promise. */

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

interface Scene {
  readonly client: Client;
  /** The reports of the connection, in their order. */
  readonly reports: string[];
  readonly socket: Promise<Socket>;
}

/** A client of undici whose connections have an adjusted parser. */
async function open(isOld = false): Promise<Scene> {
  const { url } = await rawServer((socket) => {
    socket.on('data', () => socket.write(ok));
  });
  const reports: string[] = [];
  const opened = Promise.withResolvers<Socket>();
  const client = new Client(url, {
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    connect: ({ port }, callback) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.once('connect', () => {
        callback(null, socket);
        const connection = {
          isOld: () => isOld,
          becameIdle: (askedMs: number): void => {
            reports.push(`idle for ${askedMs} ms`);
          },
          becameBusy: (): void => {
            reports.push('busy');
          },
        };
        assert.ok(adjustParser(socket, connection), 'undici keeps no such parser at the socket');
        opened.resolve(socket);
      });
    },
  });
  closeAfterwards(() => client.destroy());
  return { client, reports, socket: opened.promise };
}

async function request({ client }: Scene): Promise<void> {
  const { body } = await client.request({ path: '/', method: 'POST', body: 'x' });
  await body.dump();
  // undici can use the connection again one turn of the event loop after its answer.
  await new Promise((resolve) => setImmediate(resolve));
}

describe('the parser of the undici that is installed', () => {
  test('has each part that is used or replaced', async () => {
    const scene = await open();
    await request(scene);
    const parser = parserOf(await scene.socket);
    assert.ok(parser !== undefined);
    const types = Object.entries({
      headers: 'object',
      statusText: 'string',
      statusCode: 'number',
      shouldKeepAlive: 'boolean',
      timeoutType: 'number',
      setTimeout: 'function',
      onMessageBegin: 'function',
      trackHeader: 'function',
      onHeadersComplete: 'function',
      onMessageComplete: 'function',
      createError: 'function',
      ptr: 'number',
    });
    for (const [name, type] of types) assert.equal(typeof Reflect.get(parser, name), type, name);
    for (const name of [
      'llhttp_get_status_code',
      'llhttp_set_lenient_headers',
      'llhttp_set_lenient_optional_cr_before_lf',
      'llhttp_set_lenient_spaces_after_chunk_size',
    ])
      assert.equal(typeof Reflect.get(parser.llhttp, name), 'function', name);
  });

  test('reports when the connection is idle, and starts no timer of its own', async () => {
    const scene = await open();
    await request(scene);
    const parser: object | undefined = parserOf(await scene.socket);
    assert.deepEqual(scene.reports.slice(-2), ['busy', 'idle for 30000 ms']);
    assert.equal(Reflect.get(parser ?? {}, 'timeout'), null);
    await request(scene);
    assert.deepEqual(scene.reports.slice(-2), ['busy', 'idle for 30000 ms']);
  });

  test('reports a connection whose first request undici did not send', async () => {
    const scene = await open();
    const headers = { 'content-length': '5' };
    await assert.rejects(scene.client.request({ path: '/', method: 'POST', headers, body: 'x' }));
    await scene.socket;
    assert.deepEqual(scene.reports, ['busy', 'idle for 30000 ms']);
  });

  test('ends a connection that is old after its answer', async () => {
    const scene = await open(true);
    await request(scene);
    const socket = await scene.socket;
    if (!socket.closed) await once(socket, 'close');
    assert.ok(socket.closed);
  });
});
