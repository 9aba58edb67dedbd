import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import { bodyText } from '../../../src/delivery/kept-answer.ts';
import type { Outcome } from '../../../src/delivery/outcome.ts';
import { PreparedDestination } from '../../../src/delivery/prepared-destination.ts';
import type { Destination, Webhook } from '../../../src/resources/resource.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import {
  closeAfterwards,
  createSender,
  http,
  post,
  raw,
  rawServer,
  timeoutMs,
} from './sender-scene.ts';

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('a request', () => {
  test("carries the body as it is, signed, with the contract's headers and the configured ones", async () => {
    const received = Promise.withResolvers<{ request: IncomingMessage; body: string }>();
    const url = await http((request, response) => {
      void read(request).then((body) => {
        received.resolve({ request, body });
        response.end();
      });
    });
    const body =
      '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}';
    const target = `${url}/events?x=1`;
    const { verdict } = await post(target, {
      body,
      destination: {
        sharedSecret: 'teehee',
        idempotencyHeader: 'Idempotency-Key',
        webhooks: [{ url: target, headers: { 'X-Team': 'growth' } }],
      },
    });
    const { request, body: arrived } = await received.promise;
    assert.equal(verdict, 'delivered');
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/events?x=1');
    assert.equal(arrived, body);
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.headers['user-agent'], 'Postrider/1.0');
    assert.equal(request.headers['cdn-loop'], 'postrider');
    assert.equal(request.headers['accept-encoding'], 'identity');
    assert.equal(request.headers['x-signature'], '6584c31d030ff167eca14a1042eb7e88c881b8e8');
    assert.equal(request.headers['x-team'], 'growth');
    assert.equal(request.headers['idempotency-key'], 'm1');
    assert.equal(request.headers['content-length'], String(Buffer.byteLength(body)));
  });

  test('has the configured method, and the values of its event in the URL', async () => {
    const requests: unknown[] = [];
    const url = await http((request, response) => {
      requests.push([request.method, request.url]);
      response.end();
    });
    const target = `${url}/users/{{userId}}?by={{event|none}}`;
    for (const method of ['PUT', 'PATCH'] as const) {
      const webhooks = [{ url: target, headers: {}, method }];
      await post(target, { destination: { webhooks }, urlValues: { userId: 'a/b' } });
    }
    assert.deepEqual(requests, [
      ['PUT', '/users/a%2Fb?by=none'],
      ['PATCH', '/users/a%2Fb?by=none'],
    ]);
  });

  test('is not signed without a secret, nor with an empty one', async () => {
    const signatures: unknown[] = [];
    const url = await http((request, response) => {
      signatures.push(request.headers['x-signature']);
      response.end();
    });
    await post(url);
    await post(url, { destination: { sharedSecret: '' } });
    assert.deepEqual(signatures, [undefined, undefined]);
  });

  test('carries a message id that no header could hold percent-encoded', async () => {
    let key: unknown;
    const url = await http((request, response) => {
      key = request.headers['idempotency-key'];
      response.end();
    });
    await post(url, { destination: { idempotencyHeader: 'Idempotency-Key' }, messageId: 'é\r\n' });
    assert.equal(key, '%C3%A9%0D%0A');
  });

  test('carries for different message ids different values', async () => {
    const keys: unknown[] = [];
    const url = await http((request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.end();
    });
    const ids = ['a\ud83d', 'a\ude00', 'a\ufffd', 'a😀', 'a%uD83D', 'a b', 'a%20b'];
    for (const messageId of ids)
      await post(url, { destination: { idempotencyHeader: 'Idempotency-Key' }, messageId });
    assert.equal(new Set(keys).size, ids.length, keys.join());
    assert.equal(keys[0], 'a%uD83D');
  });
});

test('an answer that came in time counts, though the process was held up until after the deadline', async () => {
  const mayAnswer = new Int32Array(new SharedArrayBuffer(4));
  const hasAnswered = new Int32Array(new SharedArrayBuffer(4));
  const endpoint = new Worker(new URL('held-up-answerer.ts', import.meta.url), {
    workerData: { mayAnswer, hasAnswered },
  });
  closeAfterwards(() => endpoint.terminate());
  const [port] = (await once(endpoint, 'message')) as [number];
  const clock = new SimulatedClock();
  const result = post(`http://127.0.0.1:${port}`, { sender: createSender({ clock }) });
  await once(endpoint, 'message');
  // Where Node calls timers: after it, sockets are read.
  await delay(0);
  Atomics.store(mayAnswer, 0, 1);
  Atomics.notify(mayAnswer, 0);
  // Nothing is read meanwhile, as while the machine is suspended or its share of the processor used up.
  Atomics.wait(hasAnswered, 0, 0);
  await clock.pass(timeoutMs);
  assert.equal((await result).verdict, 'delivered');
});

test("a destination's own timeout ends its attempts, and those of no other", async () => {
  const reached = Promise.withResolvers<undefined>();
  let requests = 0;
  const url = await http(() => {
    requests += 1;
    if (requests === 3) reached.resolve(undefined);
  });
  const clock = new SimulatedClock();
  const sender = createSender({ clock });
  const ended: string[] = [];
  const timeouts = { quick: '100ms', late: '5s', usual: undefined };
  const all = Object.entries(timeouts).map(async ([name, timeout]) => {
    const retry = timeout === undefined ? {} : { timeout };
    const { verdict, tookMs } = await post(url, { sender, destination: { retry } });
    ended.push(`${name} ${verdict} ${tookMs}`);
  });
  await reached.promise;
  await clock.pass(timeoutMs - 1);
  await delay(0);
  assert.deepEqual(ended, ['quick retryable: timeout 100']);
  await clock.pass(1);
  await Promise.all(all);
  assert.deepEqual(ended.slice(1).toSorted(), [
    `late retryable: timeout ${timeoutMs}`,
    `usual retryable: timeout ${timeoutMs}`,
  ]);
});

/** Sends to a URL, and says when there is an outcome, and which. */
function send(sender: HttpSender, webhook: Webhook, settled: (outcome: Outcome) => void): void {
  const [endpoint] = new PreparedDestination({
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    enabled: true,
    webhooks: [webhook],
    payload: 'standard',
    topic: 'shared',
  }).endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  const sending = {
    body: Buffer.from('{}'),
    messageId: 'm1',
    batchSize: 0,
    mayFollow: () => true,
    authorization: () => undefined,
    settled,
  };
  sender.send({ ...sending, headers: [] }, endpoint, 0, '/');
}

test('nothing is sent once its time is over, though the process was held up while it connected', async () => {
  let requests = 0;
  const url = await http((_, response) => {
    requests += 1;
    response.end();
  });
  const result = post(url);
  // The system connects meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * timeoutMs);
  assert.equal((await result).verdict, 'retryable: timeout');
  await post(url);
  assert.equal(requests, 1);
});

test('a request that cannot be made is not made, and has its outcome only after it was handed over', async () => {
  const { url, received } = await rawServer((socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  const sender = createSender();
  const hasOutcome = Promise.withResolvers<Outcome>();
  let handedOver = false;
  let atOnce = false;
  send(sender, { url, headers: { 'X-Team': 'a\nb' } }, (outcome) => {
    atOnce = !handedOver;
    hasOutcome.resolve(outcome);
  });
  handedOver = true;
  const outcome = await hasOutcome.promise;
  assert.equal(atOnce, false);
  assert.equal(received(), '');
  assert.partialDeepStrictEqual(outcome, { kind: 'retryable', cause: 'other' });
  assert.equal((await post(`${url}/next`, { sender })).verdict, 'delivered');
  assert.match(received(), /^POST \/next (?![^]*POST )/);
});

test('what an endpoint says as it refuses is kept, as much as the setting allows, and nothing of what it says else', async () => {
  const sender = createSender({ keptAnswerBytes: 1_000 });
  const said = (outcome: Outcome): string | undefined =>
    outcome.kind === 'delivered' || outcome.answer === undefined
      ? undefined
      : bodyText(outcome.answer);
  const url = await http((request, response) => {
    const [, status = '', body = ''] = (request.url ?? '').split('/');
    response.writeHead(Number(status));
    if (body === 'long') {
      response.write('ab'.repeat(300));
      // In a chunk of its own.
      setImmediate(() => response.end('cd'.repeat(3_000)));
    } else response.end(body);
  });
  const answers = ['410/gone', '503/busy', '410/long', '410/', '200/fine'].map(async (path) =>
    said((await post(`${url}/${path}`, { sender })).outcome),
  );
  assert.deepEqual(await Promise.all(answers), [
    'gone',
    'busy',
    `${'ab'.repeat(300)}${'cd'.repeat(200)}…`,
    undefined,
    undefined,
  ]);
});

test('headers of a refusal are kept that help people, however many, long or odd the others are', async () => {
  const lines = [
    'HTTP/1.1 401 No',
    'Server: edge \x07\xff',
    'Server: behind it',
    `WWW-Authenticate: Bearer ${'x'.repeat(3_000)}`,
    'Location: https://me:secret@crm.example/log-in?token=secret#secret',
    'X-Request-Id: r-1',
    'Set-Cookie: session=secret',
    '__proto__: odd',
    ...Array.from({ length: 90 }, (_, n) => `X-Other-${n}: secret`),
    'Content-Length: 0',
  ];
  const { outcome } = await post(await raw(`${lines.join('\r\n')}\r\n\r\n`));
  const { headers = {} } = outcome.kind === 'delivered' ? {} : (outcome.answer ?? {});
  const { server, 'www-authenticate': realm, ...others } = headers;
  assert.ok(server?.startsWith('edge \x07') === true && server.endsWith(', behind it'), server);
  assert.equal(realm, `Bearer ${'x'.repeat(192)}…`);
  assert.deepEqual(others, { location: 'https://crm.example/log-in?…', 'x-request-id': 'r-1' });
});

test('a redirect says where to, without what may be secret, and what to do', async () => {
  const url = await http((request, response) => {
    const [status = '', location = ''] = (request.url ?? '').slice(1).split('/at/');
    response.writeHead(Number(status), { location: decodeURIComponent(location) }).end();
  });
  const detailOf = async (
    status: number,
    location: string,
    destination: Partial<Destination> = {},
  ): Promise<string> => {
    const path = `${status}/at/${encodeURIComponent(location)}`;
    const { outcome, verdict } = await post(`${url}/${path}`, { destination });
    assert.equal(verdict, `dead letter http-${status}`);
    return outcome.detail?.replaceAll(url, 'http://here') ?? '';
  };
  const set = "set the webhook's url to";
  assert.deepEqual(
    await Promise.all([
      detailOf(301, 'https://me:secret@crm.example/v2?token=secret#x'),
      detailOf(308, '/v2'),
      detailOf(302, '//login.example/'),
      detailOf(301, 'https://['),
      detailOf(301, 'mailto:someone@crm.example'),
    ]),
    [
      `answered 301: the endpoint moved; ${set} https://crm.example/v2?…`,
      `answered 308: the endpoint moved; ${set} http://here/v2`,
      `answered 302: if the endpoint moved, ${set} http://login.example/`,
      'answered 301',
      'answered 301',
    ],
  );
  const secret = await detailOf(301, 'https://crm.example/s3cret', { secretUrl: true });
  assert.match(secret, /^answered 301: .* https:\/\/crm\.example\/#[0-9a-f]{8}$/);
});

test('a request that is on its way when the sender is closed has no outcome', async () => {
  const arrived = Promise.withResolvers<undefined>();
  const url = await http(() => {
    arrived.resolve(undefined);
  });
  const sender = createSender();
  let hasOutcome = false;
  send(sender, { url, headers: {} }, () => {
    hasOutcome = true;
  });
  await arrived.promise;
  await sender.close();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(hasOutcome, false);
});

test('requests that hang at one path of a host do not hold up one to another path of it', async () => {
  const allArrived = Promise.withResolvers<undefined>();
  let hanging = 0;
  const url = await http((request, response) => {
    if (request.url === '/healthy') response.end();
    else if (++hanging === 100) allArrived.resolve(undefined);
  });
  const sender = createSender({ timeoutMs: 10_000 });
  let ended = 0;
  const ends = Array.from({ length: 100 }, async () => {
    await post(`${url}/hanging`, { sender });
    ended += 1;
  });
  await Promise.race([allArrived.promise, ...ends]);
  assert.equal((await post(`${url}/healthy`, { sender })).verdict, 'delivered');
  assert.deepEqual([hanging, ended], [100, 0]);
  await sender.close();
});
