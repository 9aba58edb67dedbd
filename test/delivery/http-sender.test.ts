import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { AddressGuard } from '../../src/delivery/address-guard.ts';
import { HttpSender } from '../../src/delivery/http-sender.ts';
import { CachingResolver } from '../../src/delivery/name-resolver.ts';
import type { NameResolver } from '../../src/delivery/name-resolver.ts';
import type { Outcome } from '../../src/delivery/outcome.ts';
import { PreparedDestination } from '../../src/delivery/prepared-destination.ts';
import { systemClock } from '../../src/ops/clock.ts';
import type { Destination } from '../../src/resources/resource.ts';
import * as certificates from './certificates.ts';
import type { Certificate } from './certificates.ts';

setDefaultCACertificates([...getCACertificates('default'), certificates.authority]);

const timeoutMs = 400;
const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers) await close();
});

interface Setup {
  allowNetworks?: string[];
  resolver?: NameResolver;
}

function createSender({
  allowNetworks = ['127.0.0.0/8', '::1/128'],
  resolver,
}: Setup = {}): HttpSender {
  const sender = new HttpSender({
    timeoutMs,
    guard: new AddressGuard(allowNetworks),
    resolver: resolver ?? new CachingResolver(systemClock),
    clock: systemClock,
  });
  closers.push(() => sender.close());
  return sender;
}

const shared = createSender();

function destination(url: string, changes: Partial<Destination> = {}): Destination {
  return {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    enabled: true,
    webhooks: [{ url, headers: {} }],
    payload: 'standard',
    topic: 'shared',
    ...changes,
  };
}

interface Result {
  readonly outcome: Outcome;
  readonly tookMs: number;
}

/** One POST as the worker does it. */
function post(
  url: string,
  options: {
    sender?: HttpSender;
    body?: string;
    destination?: Partial<Destination>;
    messageId?: string;
  } = {},
): Promise<Result> {
  const prepared = new PreparedDestination(destination(url, options.destination));
  const body = Buffer.from(options.body ?? '{"a":1}');
  const [endpoint] = prepared.endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  return new Promise((resolve) => {
    (options.sender ?? shared).send(
      {
        body,
        signature: prepared.sign(body),
        idempotencyHeader: prepared.destination.idempotencyHeader,
        messageId: options.messageId ?? 'm1',
        settled: (outcome, _index, tookMs) => {
          resolve({ outcome, tookMs });
        },
      },
      endpoint,
      0,
    );
  });
}

async function listen(server: Server, protocol: 'http' | 'https'): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function http(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  closers.push(() => {
    server.closeAllConnections();
  });
  return listen(server, 'http');
}

/** Answers every request with these bytes, or does with the socket whatever it wants. */
async function raw(onRequest: string | ((socket: Socket) => void)): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    closers.push(() => socket.destroy());
    socket.once('data', () => {
      if (typeof onRequest === 'string') socket.write(onRequest);
      else onRequest(socket);
    });
  });
  return listen(server, 'http');
}

async function tls({ cert, key }: Certificate): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const server = createHttpsServer({ cert, key }, (_request, response) => {
    requests += 1;
    response.end();
  });
  closers.push(() => {
    server.closeAllConnections();
  });
  return { url: await listen(server, 'https'), requests: () => requests };
}

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
    const { outcome } = await post(target, {
      body,
      destination: {
        sharedSecret: 'teehee',
        idempotencyHeader: 'Idempotency-Key',
        webhooks: [{ url: target, headers: { 'X-Team': 'growth' } }],
      },
    });
    const { request, body: arrived } = await received.promise;
    assert.equal(outcome.kind, 'delivered');
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/events?x=1');
    assert.equal(arrived, body);
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.headers['user-agent'], 'Postrider/1.0');
    assert.equal(request.headers['x-signature'], '6584c31d030ff167eca14a1042eb7e88c881b8e8');
    assert.equal(request.headers['x-team'], 'growth');
    assert.equal(request.headers['idempotency-key'], 'm1');
    assert.equal(request.headers['content-length'], String(Buffer.byteLength(body)));
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

  test('goes over connections that are kept', async () => {
    const ports = new Set<unknown>();
    const url = await http((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('ok');
    });
    for (let i = 0; i < 10; i++) await post(url);
    // The next one may start before undici has put the connection of the last one back.
    assert.ok(ports.size <= 2);
  });
});

describe('an answer', () => {
  const answering = (respond: (response: ServerResponse) => void): Promise<string> =>
    http((request, response) => {
      request.resume();
      respond(response);
    });

  for (const status of [200, 201, 202, 204, 206, 299])
    test(`${status} is a delivery`, async () => {
      const url = await answering((response) => response.writeHead(status).end());
      assert.equal((await post(url)).outcome.kind, 'delivered');
    });

  for (const [status, cause] of [
    [408, 'status-408'],
    [425, 'status-425'],
    [429, 'status-429'],
    [500, 'status-5xx'],
    [503, 'status-5xx'],
    [599, 'status-5xx'],
    [600, 'other'],
  ] as const)
    test(`${status} may be tried again`, async () => {
      const url = await answering((response) => response.writeHead(status).end());
      const { outcome } = await post(url);
      assert.deepEqual(
        [outcome.kind, outcome.kind === 'retryable' && outcome.cause],
        ['retryable', cause],
      );
    });

  for (const status of [300, 304, 400, 401, 404, 410, 422, 499])
    test(`${status} is final`, async () => {
      const url = await answering((response) => response.writeHead(status).end());
      const { outcome } = await post(url);
      assert.deepEqual(outcome, {
        kind: 'permanent',
        reason: `http-${status}`,
        detail: `answered ${status}`,
      });
    });

  test('that redirects is not followed', async () => {
    let followed = false;
    const target = await http((_request, response) => {
      followed = true;
      response.end();
    });
    const url = await answering((response) => response.writeHead(302, { location: target }).end());
    const { outcome } = await post(url);
    assert.equal(outcome.kind === 'permanent' && outcome.reason, 'http-302');
    assert.equal(followed, false);
  });

  test('with Retry-After says how long', async () => {
    const url = await answering((response) =>
      response.writeHead(503, { 'retry-after': '120' }).end(),
    );
    const { outcome } = await post(url);
    assert.equal(outcome.kind === 'retryable' && outcome.retryAfterMs, 120_000);
  });

  test('of more than 64 KB is a delivery, and its connection is closed', async () => {
    const closed = Promise.withResolvers<undefined>();
    const url = await answering((response) => {
      response.on('close', () => {
        closed.resolve(undefined);
      });
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      };
      response.on('drain', more);
      more();
    });
    assert.equal((await post(url)).outcome.kind, 'delivered');
    await closed.promise;
  });

  test('that is a gzip bomb is never decoded', async () => {
    const bomb = gzipSync(Buffer.alloc(8_000_000));
    const url = await answering((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    assert.equal((await post(url)).outcome.kind, 'delivered');
  });

  test('whose body is cut off is no delivery', async () => {
    const url = await raw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123'),
    );
    const { outcome } = await post(url);
    assert.equal(outcome.kind, 'retryable');
  });

  test('of HTTP/1.0 without a length is a delivery when the connection ends', async () => {
    const url = await raw((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nhello'));
    assert.equal((await post(url)).outcome.kind, 'delivered');
  });

  test('after early hints is the one that counts', async () => {
    const url = await raw(
      'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
    );
    const { outcome } = await post(url);
    assert.equal(outcome.kind === 'permanent' && outcome.reason, 'http-404');
  });

  test('that is not HTTP is final', async () => {
    const url = await raw('220 mail.example ESMTP ready\r\n');
    const { outcome } = await post(url);
    assert.equal(outcome.kind === 'permanent' && outcome.reason, 'not-http');
  });

  test('with more header than we read is final', async () => {
    const url = await raw(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`);
    const { outcome } = await post(url);
    assert.equal(outcome.kind === 'permanent' && outcome.reason, 'not-http');
  });
});

describe('the deadline', () => {
  const isTimeout = ({ outcome, tookMs }: Result): void => {
    assert.equal(outcome.kind === 'retryable' && outcome.cause, 'timeout');
    assert.ok(tookMs >= timeoutMs);
  };

  test('ends a request that gets no answer', async () => {
    isTimeout(await post(await raw(() => undefined)));
  });

  test('ends an answer that comes one byte at a time', async () => {
    const url = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    isTimeout(await post(url));
  });

  test('ends headers without an end', async () => {
    const url = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('X: y\r\n'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    isTimeout(await post(url));
  });

  test('ends a connection that is never made', async () => {
    const resolver: NameResolver = { resolve: () => undefined };
    const sender = createSender({ resolver });
    isTimeout(await post('http://never.example/', { sender }));
  });
});

describe('a connection', () => {
  const causeOf = ({ outcome }: Result): unknown => outcome.kind === 'retryable' && outcome.cause;

  test('that is refused may be tried again', async () => {
    const server = createTcpServer();
    const url = await listen(server, 'http');
    server.close();
    await once(server, 'close');
    assert.equal(causeOf(await post(url)), 'connection');
  });

  test('that is reset may be tried again', async () => {
    const url = await raw((socket) => socket.resetAndDestroy());
    assert.equal(causeOf(await post(url)), 'connection');
  });

  test('to a name that does not exist may be tried again', async () => {
    const resolver: NameResolver = {
      resolve: (_name, callback) => {
        callback(Object.assign(new Error('no such name'), { code: 'EDNS' }), []);
      },
    };
    const sender = createSender({ resolver });
    assert.equal(causeOf(await post('http://nowhere.example/', { sender })), 'dns');
  });
});

describe('a certificate', () => {
  const send = async (
    certificate: Certificate,
  ): Promise<{ outcome: Outcome; requests: number }> => {
    const { url, requests } = await tls(certificate);
    const { outcome } = await post(url);
    return { outcome, requests: requests() };
  };

  test('of a trusted authority is accepted', async () => {
    const { outcome, requests } = await send(certificates.valid);
    assert.deepEqual([outcome.kind, requests], ['delivered', 1]);
  });

  test('that has expired sends no request, and may be tried again', async () => {
    const { outcome, requests } = await send(certificates.expired);
    assert.deepEqual([outcome.kind === 'retryable' && outcome.cause, requests], ['tls', 0]);
  });

  test('for another host sends no request, and may be tried again', async () => {
    const { outcome, requests } = await send(certificates.otherHost);
    assert.deepEqual([outcome.kind === 'retryable' && outcome.cause, requests], ['tls', 0]);
  });

  test('signed by itself sends no request and is final', async () => {
    const { outcome, requests } = await send(certificates.selfSigned);
    assert.deepEqual(
      [outcome.kind === 'permanent' && outcome.reason, requests],
      ['tls-untrusted', 0],
    );
  });
});

describe('an address that is not public', () => {
  const strict = createSender({ allowNetworks: [] });
  const reasonOf = ({ outcome }: Result): unknown => outcome.kind === 'permanent' && outcome.reason;

  test('is refused in every spelling of a URL, and nothing connects', async () => {
    let connections = 0;
    const server = createTcpServer(() => {
      connections += 1;
    });
    const url = await listen(server, 'http');
    const { port } = new URL(url);
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
    ])
      assert.equal(
        reasonOf(await post(`http://${host}:${port}/`, { sender: strict })),
        'address-refused',
      );
    assert.equal(connections, 0);
  });

  test('is refused when a name leads to it, even beside a public one', async () => {
    const resolver: NameResolver = {
      resolve: (_name, callback) => {
        callback(null, [
          { address: '93.184.216.34', family: 4 },
          { address: '10.0.0.1', family: 4 },
        ]);
      },
    };
    const sender = createSender({ allowNetworks: [], resolver });
    assert.equal(reasonOf(await post('http://mixed.example/', { sender })), 'address-refused');
  });

  test('is let through where the operator named its network', async () => {
    const url = await http((_request, response) => response.end());
    const { port } = new URL(url);
    assert.equal((await post(`http://localhost:${port}/`)).outcome.kind, 'delivered');
  });
});
