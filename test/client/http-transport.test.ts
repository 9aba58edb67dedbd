import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { encodeCall } from '../../src/client/encode-call.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import type { SendResult } from '../../src/client/transport.ts';

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
