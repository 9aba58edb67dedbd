// Runs in a process of its own: it collects garbage again and again, and measures the memory of the process.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { useTls, type Timeouts } from '../../src/gateway/server.ts';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { collect } from '../harness/old-garbage.ts';
import { exampleSource } from '../resources/examples.ts';
import { auth, createTestGateway, type TestGateway, type TestGatewayOptions } from './fakes.ts';

const body = '{"batch":[{"type":"page","userId":"u"}]}';
const agent = new Agent();
after(() => agent.close());

interface Listening extends TestGateway {
  readonly port: number;
}

async function listen(t: TestContext, options: TestGatewayOptions = {}): Promise<Listening> {
  const gateway = createTestGateway(options);
  await gateway.server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => gateway.server.close());
  const { port } = gateway.server.server.address() as AddressInfo;
  return { ...gateway, port };
}

function head(length: number | string): string {
  return `POST /v1/batch HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\ncontent-length: ${length}\r\n\r\n`;
}

/** Everything that the server says until it closes the connection. */
async function conversation(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

const minuteMs = 60_000;
const patient: Timeouts = {
  headersMs: minuteMs,
  requestMs: minuteMs,
  idleMs: minuteMs,
  checkEveryMs: 20,
  bodyWindowMs: minuteMs,
};

const slow: Readonly<Record<string, { sent: string; answer: RegExp; limit: Partial<Timeouts> }>> = {
  'nothing at all': { sent: '', answer: /^(HTTP\/1.1 408 |$)/, limit: { headersMs: 100 } },
  'half of its headers': {
    sent: head(2).slice(0, 40),
    answer: /^HTTP\/1.1 408 .*"code":"request-timeout"/s,
    limit: { headersMs: 100 },
  },
  'half of its body': {
    sent: head(100) + body,
    answer: /^HTTP\/1.1 408 .*"code":"request-timeout"/s,
    limit: { headersMs: 100, requestMs: 150 },
  },
  'its body too slowly': {
    sent: head(100) + body,
    answer: /^HTTP\/1.1 408 .*connection: close.*"code":"request-timeout".*slower than 1024 bytes/s,
    limit: { bodyWindowMs: 100 },
  },
  'an expectation that is none': {
    sent: head(2).replace('\r\n\r\n', '\r\nexpect: more\r\n\r\n'),
    answer: /^HTTP\/1.1 417 .*"code":"unknown-expectation"/s,
    limit: {},
  },
  'nothing after its answer': {
    sent: head(body.length) + body,
    answer: /^HTTP\/1.1 200 .*true\}$/s,
    limit: { idleMs: 100 },
  },
};

for (const [what, { sent, answer, limit }] of Object.entries(slow)) {
  test(`a connection that sends ${what} is cut`, { timeout: 20_000 }, async (t) => {
    const { port, budget } = await listen(t, { timeouts: { ...patient, ...limit } });
    const socket = connect(port, '127.0.0.1');
    socket.write(sent);
    assert.match(await conversation(socket), answer);
    await eventually(() => {
      assert.equal(budget.usedBytes, 0);
    });
  });
}

test('a body of tiny chunks takes little more memory than its bytes', async (t) => {
  const { port, budget } = await listen(t);
  const chunks = 200_000;
  const socket = connect(port, '127.0.0.1');
  collect();
  const before = memoryBytes();
  socket.write('POST /v1/batch HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  socket.write('1\r\n \r\n'.repeat(chunks));
  await eventually(() => {
    assert.equal(budget.usedBytes, chunks);
  });
  collect();
  const taken = memoryBytes() - before;
  assert.ok(taken < 40 * chunks, `${taken} bytes for ${chunks}`);
  socket.destroy();
});

const manyValues = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, [n]]));
const largeBatch = JSON.stringify({
  writeKey: 'x',
  batch: Array.from({ length: 100 }, () => ({
    type: 'track',
    event: 'Seen',
    userId: 'u',
    properties: manyValues,
  })),
});

test('requests that wait for Kafka take no more memory than they are counted for', async (t) => {
  const gateway = await listen(t);
  const { held } = gateway.producer;
  gateway.producer.isHolding = true;
  const { taken, counted, bodies } = await takenBy(t, gateway, {
    head,
    areWaiting: (requests) => held.length === requests * 100,
  });
  for (const acknowledge of held) acknowledge();
  assert.ok(taken < counted, `${taken} bytes, of which ${counted} are counted`);
  assert.ok(bodies < counted / 10, `${bodies} bytes of bodies`);
});

test('requests whose key is looked for take little more memory than they are counted for', async (t) => {
  const gateway = await listen(t);
  const { config, budget } = gateway;
  const lookedFor = Promise.withResolvers<undefined>();
  config.caughtUp = () => lookedFor.promise;
  const { taken, counted } = await takenBy(t, gateway, {
    // The key is in the body, and unknown.
    head: (bytes) => head(bytes).replace(/authorization: .*\r\n/, ''),
    areWaiting: (requests) => budget.usedBytes === requests * largeBatch.length,
  });
  lookedFor.resolve(undefined);
  assert.ok(taken < 1.5 * counted, `${taken} bytes, of which ${counted} are counted`);
});

interface Waiting {
  readonly head: (bytes: number) => string;
  readonly areWaiting: (requests: number) => boolean;
}

/** Bytes that 40 waiting requests take beside a first one, and how many of these are `counted` or buffers of `bodies`. */
async function takenBy(
  t: TestContext,
  { port, budget }: Listening,
  { head, areWaiting }: Waiting,
): Promise<{ readonly taken: number; readonly counted: number; readonly bodies: number }> {
  let sent = 0;
  const send = async (requests: number): Promise<void> => {
    for (let n = 0; n < requests; n += 1) {
      const socket = connect(port, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.write(head(largeBatch.length) + largeBatch);
    }
    sent += requests;
    await eventually(() => {
      assert.ok(areWaiting(sent));
    });
    // Buffers are freed after a collection, and surely by the next one.
    collect();
    collect();
  };
  await send(1);
  const before = { all: memoryBytes(), bodies: bufferBytes(), counted: budget.usedBytes };
  await send(40);
  return {
    taken: memoryBytes() - before.all,
    bodies: bufferBytes() - before.bodies,
    counted: budget.usedBytes - before.counted,
  };
}

function bufferBytes(): number {
  return process.memoryUsage().external;
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a client that goes away in the middle of its body leaves nothing behind', async (t) => {
  const { port, budget, producer } = await listen(t);
  const socket = connect(port, '127.0.0.1');
  socket.write(head(1_000) + body);
  await eventually(() => {
    assert.equal(budget.usedBytes, body.length);
  });
  socket.destroy();
  await eventually(() => {
    assert.equal(budget.usedBytes, 0);
  });
  assert.deepEqual(producer.records, []);
});

test(
  'slow bodies without a write key in the header leave room for requests that show one',
  { timeout: 20_000 },
  async (t) => {
    const { port, server, budget } = await listen(t, { maxBytes: 10_000 });
    const padded = (bytes: number): string => body.padEnd(bytes);
    const stranger = (): Socket => {
      const socket = connect(port, '127.0.0.1');
      const lines = ['POST /v1/batch HTTP/1.1', 'host: x', 'content-length: 5000'];
      socket.write(`${lines.join('\r\n')}\r\n\r\n${padded(4_900)}`);
      return socket;
    };
    const held = stranger();
    await eventually(() => {
      assert.equal(budget.usedBytes, 4_900);
    });
    const refused = stranger();
    const [answer] = (await once(refused, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 429 .*"code":"overloaded"/s);
    const known = await server.inject({
      method: 'POST',
      url: '/v1/batch',
      headers: auth,
      payload: padded(1_000),
    });
    assert.equal(known.statusCode, 200);
    for (const socket of [held, refused]) socket.destroy();
  },
);

test('bodies of one key that never end leave room for another', { timeout: 20_000 }, async (t) => {
  const { port, server, budget, config } = await listen(t, { maxBytes: 100_000 });
  config.put(exampleSource({ id: 'other', writeKeys: ['wk_other'] }));
  const sockets = Array.from({ length: 66 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write(head(10_000) + body.padEnd(9_999));
    return socket;
  });
  await eventually(() => {
    assert.ok(budget.usedBytes > 30_000);
  });
  const authorization = `Basic ${Buffer.from('wk_other:').toString('base64')}`;
  for (let request = 0; request < 20; request += 1) {
    const { statusCode } = await server.inject({
      method: 'POST',
      url: '/v1/batch',
      headers: { authorization },
      payload: body,
    });
    assert.equal(statusCode, 200);
  }
  for (const socket of sockets) socket.destroy();
});

test('a request that shows its write key in the body is its key’s from then on', async () => {
  const { server, producer, budget } = createTestGateway({ maxBytes: 20_000 });
  const batch = Array.from({ length: 10 }, () => ({ type: 'page', userId: 'u' }));
  const { statusCode } = await server.inject({
    method: 'POST',
    url: '/v1/batch',
    payload: { batch, writeKey: 'wk_shop' },
  });
  assert.equal(statusCode, 200);
  assert.equal(producer.records.length, 10);
  assert.equal(budget.usedBytes, 0);
});

for (const declared of ['content-length: 50000000', 'transfer-encoding: chunked']) {
  test(`a body above 1 MB is answered with 413 while it is still coming, ${declared}`, async (t) => {
    const { port, server } = await listen(t);
    const accepted = once(server.server, 'connection') as Promise<[Socket]>;
    const socket = connect(port, '127.0.0.1');
    const [served] = await accepted;
    socket.write(`POST /v1/batch HTTP/1.1\r\nhost: x\r\n${declared}\r\n\r\n`);
    const chunk = 'x'.repeat(65_536);
    const wire = declared.startsWith('t') ? `10000\r\n${chunk}\r\n` : chunk;
    const said = conversation(socket);
    for (let sent = 0; sent < 700 && !socket.destroyed; sent += 1) {
      if (!socket.write(wire)) await Promise.race([once(socket, 'drain').catch(() => 0), said]);
    }
    assert.match(await said, /^HTTP\/1.1 413 .*"code":"body-too-large"/s);
    assert.ok(served.bytesRead < 2_000_000, `${served.bytesRead} bytes were read`);
  });
}

test('bytes that are no HTTP are answered with both keys', async (t) => {
  const { port } = await listen(t);
  const answers: Record<string, RegExp> = {
    'GARBAGE\r\n\r\n': /^HTTP\/1.1 400 .*"code":"invalid-request","message":/s,
    [`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`]: /^HTTP\/1.1 431 .*"headers-too-large"/s,
    [head('1\r\ncontent-length: 2')]: /^HTTP\/1.1 400 .*"invalid-request"/s,
  };
  for (const [sent, answer] of Object.entries(answers)) {
    const socket = connect(port, '127.0.0.1');
    socket.write(sent);
    assert.match(await conversation(socket), answer);
  }
});

test('one connection carries many requests, also those that are refused', async (t) => {
  const { port } = await listen(t);
  const socket = connect(port, '127.0.0.1');
  socket.write(head(body.length) + body + head(1) + '{' + head(body.length) + body);
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await eventually(() => {
    const statuses = [...said.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    assert.deepEqual(statuses, ['200', '400', '200']);
  });
  socket.destroy();
});

test('a server that closes finishes what it has accepted and takes no more', async (t) => {
  const { port, server, producer } = await listen(t);
  producer.isHolding = true;
  const answer = request(`http://127.0.0.1:${port}/v1/batch`, {
    method: 'POST',
    headers: auth,
    body,
    dispatcher: agent,
  });
  await eventually(() => {
    assert.equal(producer.held.length, 1);
  });
  const closing = server.close();
  await eventually(async () => {
    const socket = connect(port, '127.0.0.1');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
  });
  for (const acknowledge of producer.held) acknowledge();
  const { statusCode, headers } = await answer;
  assert.deepEqual([statusCode, headers['connection']], [200, 'close']);
  await closing;
});

const unfinished: Readonly<Record<string, string>> = {
  nothing: '',
  'half of its headers': head(2).slice(0, 40),
  'half of a second request': head(1) + '{' + head(2).slice(0, 40),
};
for (const [what, sent] of Object.entries(unfinished))
  for (const scheme of ['http', 'https'])
    test(
      `a server that closes does not wait for a connection that has sent ${what}, over ${scheme}`,
      { timeout: 20_000 },
      async (t) => {
        const { cert, key } = makeCertificate();
        const tls = { cert: Buffer.from(cert), key: Buffer.from(key) };
        const { port, server } = await listen(t, scheme === 'https' ? { tls } : {});
        const socket =
          scheme === 'https'
            ? connectTls({ port, host: '127.0.0.1', ca: cert })
            : connect(port, '127.0.0.1');
        t.after(() => socket.destroy());
        const said = conversation(socket);
        await once(socket, scheme === 'https' ? 'secureConnect' : 'connect');
        const answered = sent.includes('{') ? once(socket, 'data') : undefined;
        socket.write(sent);
        await answered;
        const connections = promisify(server.server.getConnections.bind(server.server));
        await eventually(async () => {
          assert.equal(await connections(), 1);
        });
        await server.close();
        await said;
      },
    );

test('a renewed certificate is shown to new connections, and open ones go on', async (t) => {
  const authority = makeAuthority('Test CA');
  const pairs = ['first', 'second'].map((name) => makeCertificate({ name, by: authority }));
  const [first, second] = pairs.map(({ cert, key }) => ({
    cert: Buffer.from(cert),
    key: Buffer.from(key),
  }));
  assert.ok(first && second);
  const { port, server } = await listen(t, { tls: first });
  const shown = async (): Promise<{ name: unknown; socket: TLSSocket }> => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: authority.cert });
    await once(socket, 'secureConnect');
    t.after(() => socket.destroy());
    return { name: socket.getPeerCertificate().subject.CN, socket };
  };
  const before = await shown();
  useTls(server, second);
  const after = await shown();
  assert.deepEqual([before.name, after.name], ['first', 'second']);
  before.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [answer] = (await once(before.socket, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 404/);
});

test('with a certificate the gateway speaks HTTPS', async (t) => {
  const authority = makeAuthority('Test CA');
  const { cert, key } = makeCertificate({ by: authority });
  const tls = { cert: Buffer.from(cert), key: Buffer.from(key) };
  const { port } = await listen(t, { tls });
  const dispatcher = new Agent({ connect: { ca: authority.cert } });
  t.after(() => dispatcher.close());
  const { statusCode } = await request(`https://127.0.0.1:${port}/v1/batch`, {
    method: 'POST',
    headers: auth,
    body,
    dispatcher,
  });
  assert.equal(statusCode, 200);
});

test('a method that only HTTP/2 has is no failure of the gateway', async (t) => {
  const { port } = await listen(t);
  const socket = connect(port, '127.0.0.1');
  // Node reads it as a request without a version, for a method that fastify has no routes for.
  socket.end('PRI *2.0\r\n\r\nSM\r\n\r\n');
  assert.match(await conversation(socket), /^HTTP\/1.1 404 .*"code":"not-found"/s);
});
