import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { encodeCall } from '../../src/client/encode-call.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import type { SendResult } from '../../src/client/transport.ts';
import { startFakeGateway } from './fake-gateway.ts';

const rules = { anonymousPages: false, nowMs: 0, context: undefined };
const call = encodeCall('track', { userId: 'u', event: 'E' }, rules);

/** What becomes of a call at an endpoint that answers with this status, and then without end. */
async function sendToEndless(t: TestContext, status: number): Promise<SendResult> {
  const server = createServer((_request, response) => {
    response.writeHead(status);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', more);
    more();
    ended = once(response, 'close');
  });
  let ended: Promise<unknown> = Promise.resolve();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  // Without a timeout: only the length of the answer ends it.
  const transport = new HttpTransport({ url, writeKey: 'wk', timeoutMs: 2 ** 31 - 1 });
  const result = await transport.send([call]);
  await ended;
  return result;
}

test('an answer without an end is read up to a limit, and its status counts', async (t) => {
  assert.deepEqual(await sendToEndless(t, 200), { outcome: 'settled', refused: new Map() });
});

test('a refusal without an end becomes an error of a readable length', async (t) => {
  const result = await sendToEndless(t, 401);
  assert.equal(result.outcome, 'settled');
  const message = [...result.refused.values()].map((refusal) => refusal.message).join();
  assert.match(message, /^the endpoint answered 401: x{200}$/);
});

test('an answer that breaks off counts by its status: the gateway has taken the calls', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"success"', () => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const transport = new HttpTransport({ url: `http://127.0.0.1:${port}`, writeKey: 'wk' });
  assert.deepEqual(await transport.send([call]), { outcome: 'settled', refused: new Map() });
});

interface Scene {
  /** @returns `delivered`, `again`, or why it was refused */
  readonly send: (status: number, body: string, atMs: number) => Promise<string>;
}

/** A transport whose endpoint answers with what it is told to, and a clock that is told the time. */
async function scene(t: TestContext): Promise<Scene> {
  const gateway = await startFakeGateway();
  t.after(() => gateway.close());
  let nowMs = 0;
  const clock = { steadyNow: () => nowMs };
  const transport = new HttpTransport({ url: gateway.url, writeKey: 'wk', clock });
  return {
    send: async (status, body, atMs) => {
      nowMs = atMs;
      gateway.answer = () => ({ status, body });
      const result = await transport.send([call]);
      if (result.outcome === 'again') return 'again';
      const [refusal] = result.refused.values();
      return refusal?.message ?? 'delivered';
    },
  };
}

const minuteMs = 60_000;
const page = '<h1>Not Found</h1>';

test('a proxy that answers in the place of the gateway is put up with for a minute after a delivery', async (t) => {
  const { send } = await scene(t);
  assert.equal(await send(200, '', 0), 'delivered');
  for (const status of [401, 403, 404, 405, 407, 410])
    assert.equal(await send(status, page, minuteMs), 'again', `${status}`);
  assert.equal(await send(404, page, 2 * minuteMs - 1), 'again');
  assert.equal(await send(200, '', 2 * minuteMs), 'delivered');
  assert.equal(await send(404, page, 3 * minuteMs), 'again');
  assert.equal(await send(404, page, 4 * minuteMs), `the endpoint answered 404: ${page}`);
  assert.equal(await send(400, page, 4 * minuteMs), `the endpoint answered 400: ${page}`);
});

test('what the gateway itself says of a write key, or who answers at a wrong address, is final at once', async (t) => {
  const { send } = await scene(t);
  assert.equal(await send(404, page, 0), `the endpoint answered 404: ${page}`);
  assert.equal(await send(200, '', 0), 'delivered');
  const refusal = JSON.stringify({ code: 'unknown-write-key', message: 'no such key' });
  assert.equal(await send(401, refusal, 1), 'the endpoint answered 401: no such key');
  for (const body of ['null', '7', '"text"', '{"message":"no such page"}'])
    assert.equal(await send(403, body, 1), 'again', body);
});
