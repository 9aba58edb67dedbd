import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import type { Outcome } from '../../../src/delivery/outcome.ts';
import { PreparedDestination } from '../../../src/delivery/prepared-destination.ts';
import { verifySignature } from '../../../src/client/verify.ts';
import { sendTest, testEvent } from '../../../src/delivery/send-test.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { exampleDestination } from '../../resources/examples.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { createSender, http, rawServer, timeoutMs } from './sender-scene.ts';

const sharedSecret = 'teehee';

interface Received {
  readonly encoding: string | undefined;
  readonly bytes: Buffer;
  readonly request: IncomingMessage;
}

/** An endpoint that keeps what it gets. */
async function endpoint(
  received: Received[],
  answer: (encoding: string | undefined) => number = () => 200,
): Promise<string> {
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const encoding = request.headers['content-encoding'];
      received.push({ encoding, bytes: Buffer.concat(chunks), request });
      response.statusCode = answer(encoding);
      response.end();
    });
  };
  return http(listener);
}

function compressing(url: string): PreparedDestination {
  const webhooks = [{ url }];
  return new PreparedDestination(exampleDestination({ webhooks, sharedSecret, compress: 'gzip' }));
}

function send(prepared: PreparedDestination, text: string, sender: HttpSender): Promise<Outcome> {
  const body = Buffer.from(text);
  const [first] = prepared.endpoints;
  assert(first);
  return new Promise((resolve) => {
    const sending = {
      body,
      headers: prepared.headersOf('m1', body, Date.now()),
      messageId: 'm1',
      batchSize: 0,
      authorization: () => undefined,
      mayFollow: () => true,
      settled: resolve,
    };
    sender.send(sending, first, 0, '/');
  });
}

const long = JSON.stringify({ type: 'track', properties: { note: 'compressible '.repeat(200) } });

describe('a destination with compress: gzip', () => {
  for (const [what, text] of [
    ['of a few KB', long],
    ['of hundreds of KB', JSON.stringify({ note: 'compressible '.repeat(20_000) })],
  ] as const)
    test(`gets a body ${what} compressed, with the signature of the uncompressed bytes`, async () => {
      const received: Received[] = [];
      const prepared = compressing(await endpoint(received));
      const outcome = await send(prepared, text, createSender());
      assert.equal(outcome.kind, 'delivered');
      assert.equal(received.length, 1);
      const [{ encoding, bytes, request }] = received as [Received];
      assert.equal(encoding, 'gzip');
      assert(bytes.length < text.length / 2);
      const body = gunzipSync(bytes);
      assert.equal(body.toString(), text);
      assert.equal(request.headers['content-length'], String(bytes.length));
      assert(verifySignature(sharedSecret, body, request.headers['x-signature']));
    });

  test('gets a short body as it is', async () => {
    const received: Received[] = [];
    const prepared = compressing(await endpoint(received));
    await send(prepared, '{"type":"track"}', createSender());
    assert.deepEqual(
      received.map(({ encoding, bytes }) => [encoding, bytes.toString()]),
      [[undefined, '{"type":"track"}']],
    );
  });
});

test('a test event is long enough to be compressed, and its answer says whether it was', async () => {
  const received: Received[] = [];
  let takesGzip = true;
  const url = await endpoint(received, (encoding) =>
    encoding === undefined || takesGzip ? 200 : 415,
  );
  const tested = async (compress: boolean): Promise<readonly unknown[]> => {
    const webhooks = [{ url }];
    const destination = exampleDestination(
      compress ? { webhooks, compress: 'gzip' } : { webhooks },
    );
    const options = { clock: systemClock, timeoutMs, allowNetworks: ['127.0.0.0/8'] };
    const event = testEvent(destination, '2026-11-24T10:00:00.000Z');
    const answers = await sendTest(destination, event, options);
    return answers.map(({ outcome, compression }) => [outcome.kind, compression]);
  };
  assert.deepEqual(await tested(false), [['delivered', undefined]]);
  assert.deepEqual(await tested(true), [['delivered', 'gzip']]);
  takesGzip = false;
  assert.deepEqual(await tested(true), [['delivered', 'refused']]);
  assert.deepEqual(
    received.map(({ encoding }) => encoding),
    [undefined, 'gzip', 'gzip', undefined],
  );
});

describe('an endpoint that answers 415 to a compressed body', () => {
  test('gets it uncompressed at once, and compressed ones again after an hour', async () => {
    const received: Received[] = [];
    let takesGzip = false;
    const url = await endpoint(received, (encoding) =>
      encoding === undefined || takesGzip ? 200 : 415,
    );
    const prepared = compressing(url);
    const clock = new SimulatedClock();
    const sender = createSender({ clock });
    const encodings = async (): Promise<readonly unknown[]> => {
      received.length = 0;
      assert.equal((await send(prepared, long, sender)).kind, 'delivered');
      return received.map(({ encoding }) => encoding);
    };
    const compression = prepared.endpoints[0]?.compression;
    assert.deepEqual(await encodings(), ['gzip', undefined]);
    assert.equal(compression?.isRefusalNews(), true);
    assert.equal(compression.isRefusalNews(), false);
    assert.equal(received[1]?.bytes.toString(), long);
    const sinceMs = compression.refusedSinceMs;
    assert.equal(sinceMs, clock.now());
    assert.deepEqual(await encodings(), [undefined]);
    await clock.pass(3_600_000);
    assert.deepEqual(await encodings(), ['gzip', undefined]);
    assert.equal(compression.refusedSinceMs, sinceMs);
    assert.equal(compression.isRefusalNews(), false);
    takesGzip = true;
    await clock.pass(3_600_000);
    assert.deepEqual(await encodings(), ['gzip']);
    assert.equal(compression.refusedSinceMs, undefined);
  });

  test('refuses the event if it answers 415 to the uncompressed body too', async () => {
    const received: Received[] = [];
    const prepared = compressing(await endpoint(received, () => 415));
    const outcome = await send(prepared, long, createSender());
    assert.equal(outcome.kind === 'permanent' && outcome.reason, 'http-415');
    assert.equal(received.length, 2);
  });

  for (const [how, answer] of [
    ['closes the connection', '\r\nConnection: close\r\nContent-Length: 5\r\n\r\n'],
    ['says more than is read', `\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`],
  ] as const)
    test(`gets it uncompressed, though it ${how}`, async () => {
      const { url } = await rawServer((socket) => {
        socket.once('data', (head: Buffer) => {
          const isCompressed = head.toString('latin1').includes('Content-Encoding: gzip');
          if (isCompressed) socket.end(`HTTP/1.1 415 Unsupported Media Type${answer}`);
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        });
      });
      const prepared = compressing(url);
      const outcome = await send(prepared, long, createSender());
      assert.equal(outcome.kind, 'delivered', JSON.stringify(outcome));
    });
});
