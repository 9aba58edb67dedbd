import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { eventually } from '../../harness/eventually.ts';
import type { NameResolver } from '../../../src/delivery/http/name-resolver.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { createSender, http, post, rawServer, timeoutMs } from './sender-scene.ts';
import type { RawServer } from './sender-scene.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

const loopback = [{ address: '127.0.0.1', family: 4 }];

interface Request {
  readonly socket: Socket;
  /** From 1: the server's connections, the requests on this one, and all requests. */
  readonly connection: number;
  readonly onConnection: number;
  readonly inAll: number;
}

interface CountingServer extends RawServer {
  readonly requests: () => number;
}

/** Does something with each request. Bodies are those of `post`, which fit into one segment with the head. */
async function serve(onRequest: (request: Request) => void): Promise<CountingServer> {
  let inAll = 0;
  const server: RawServer = await rawServer((socket) => {
    const connection = server.connections();
    let onConnection = 0;
    socket.on('data', () => {
      onConnection += 1;
      inAll += 1;
      onRequest({ socket, connection, onConnection, inAll });
    });
  });
  return { ...server, requests: () => inAll };
}

function some<Item>(items: readonly Item[]): readonly [Item, ...Item[]] {
  const [first, ...others] = items;
  assert.ok(first !== undefined);
  return [first, ...others];
}

function closed(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve));
}

describe('connections', () => {
  test('are kept', async () => {
    const ports = new Set<unknown>();
    const url = await http((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('ok');
    });
    const sender = createSender();
    for (let i = 0; i < 10; i++) {
      await post(url, { sender });
    }
    assert.equal(ports.size, 1);
  });

  test('are kept, however much their answers bring together', async () => {
    const ports = new Set<unknown>();
    const url = await http((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('x'.repeat(60_000));
    });
    const sender = createSender();
    for (let i = 0; i < 20; i++) {
      assert.equal((await post(url, { sender })).verdict, 'delivered');
    }
    assert.equal(ports.size, 1);
  });

  test('are closed when no request follows, and those of other endpoints at the origin are kept', async () => {
    const sockets: Socket[] = [];
    const { url, connections } = await serve(({ socket }) => {
      sockets.push(socket);
      // Both are in flight before one is answered.
      if (sockets.length === 2) for (const each of sockets) each.write(ok);
      if (sockets.length > 2) socket.write(ok);
    });
    const sender = createSender({ timeoutMs: 10_000 });
    await Promise.all([post(url, { sender }), post(url, { sender, mayFollow: false })]);
    await eventually(() => {
      assert.equal(sockets.filter(({ destroyed }) => destroyed).length, 1);
    });
    await post(url, { sender });
    assert.equal(connections(), 2);
    await post(url, { sender, mayFollow: false });
    await eventually(() => {
      assert.ok(sockets.every(({ destroyed }) => destroyed));
    });
    await post(url, { sender });
    assert.equal(connections(), 3);
  });

  test('are as many as requests in flight, where each answer is followed by a request at once', async () => {
    const { url, connections, requests } = await serve(({ socket }) => socket.write(ok));
    const sender = createSender({ timeoutMs: 10_000 });
    const inFlight = 64;
    const sendOneByOne = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) assert.equal((await post(url, { sender })).verdict, 'delivered');
    };
    await Promise.all(Array.from({ length: inFlight }, sendOneByOne));
    assert.deepEqual([requests(), connections()], [20 * inFlight, inFlight]);
  });

  test('that were used last are used next, so that the others grow idle', async () => {
    const used: number[] = [];
    const { url } = await serve(({ socket, connection }) => {
      used.push(connection);
      socket.write(ok);
    });
    const sender = createSender();
    await Promise.all([1, 2, 3].map(() => post(url, { sender })));
    used.length = 0;
    for (let i = 0; i < 5; i++) await post(url, { sender });
    assert.equal(new Set(used).size, 1);
  });

  test('outlive a request that is not sent because a header of it is none', async () => {
    const { url, connections, requests } = await serve(({ socket }) => socket.write(ok));
    const sender = createSender();
    const broken = { webhooks: [{ url, headers: { Broken: 'two\nlines' } }] };
    await post(url, { sender });
    for (let i = 0; i < 3; i++)
      assert.equal((await post(url, { sender, destination: broken })).verdict, 'retryable: other');
    await post(url, { sender });
    assert.deepEqual([requests(), connections()], [2, 1]);
  });

  test('are not kept while there are very many', async () => {
    const sender = createSender({ maxKept: 2 });
    const closed = new Set<number>();
    const servers = await Promise.all(
      [0, 1, 2, 3].map((i) =>
        serve(({ socket }) => {
          socket.on('close', () => closed.add(i));
          socket.write(ok);
        }),
      ),
    );
    for (const { url } of servers) assert.equal((await post(url, { sender })).verdict, 'delivered');
    await eventually(() => {
      assert.deepEqual([...closed], [2, 3]);
    });
  });
});

test('a connection is kept again once the very many are gone', async () => {
  const sender = createSender({ maxKept: 2 });
  const sockets: Socket[] = [];
  const [once, again] = [
    await serve(({ socket }) => {
      sockets.push(socket);
      socket.write(ok);
    }),
    await serve(({ socket }) => socket.write(ok)),
  ];
  await Promise.all([1, 2, 3].map(() => post(once.url, { sender })));
  await Promise.all(sockets.map((socket) => closed(socket.destroy())));
  await eventually(async () => {
    const before = again.connections();
    for (let i = 0; i < 2; i++) {
      await post(again.url, { sender });
    }
    assert.ok(again.connections() - before < 2);
  });
});

describe('a kept connection that the server closes while a request is on its way', () => {
  const closing: [string, (socket: Socket) => void][] = [
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
  ];

  for (const [what, close] of closing)
    test(`(it ${what} it) costs no attempt: the request goes once more, on a new one`, async () => {
      const { url, connections, received } = await serve(({ socket, onConnection }) => {
        if (onConnection === 1) socket.write(ok);
        else close(socket);
      });
      const sender = createSender();
      assert.equal((await post(url, { sender, body: '"first"' })).verdict, 'delivered');
      const again = {
        sender,
        body: '"second"',
        messageId: 'm2',
        destination: { idempotencyHeader: 'Idempotency-Key', sharedSecret: 'teehee' },
      };
      assert.equal((await post(url, again)).verdict, 'delivered');
      assert.equal(connections(), 2);
      const [, second = '', third = ''] = received().split(/(?=POST )/);
      const withoutConnection = (text: string): string => text.replace(/connection: .*\r\n/i, '');
      assert.match(second, /Idempotency-Key: m2\r\n[^]*\r\n"second"$/i);
      assert.equal(withoutConnection(third), withoutConnection(second));
      // Its own: it is not kept for a second chance of the next one.
      assert.match(third, /^connection: close\r$/im);
    });

  test('costs none of many requests when it is a server that starts again', async () => {
    const sockets: Socket[] = [];
    const { url, connections } = await serve(({ socket, onConnection }) => {
      if (onConnection === 1) sockets.push(socket);
      socket.write(ok);
    });
    const sender = createSender();
    const round = (): Promise<string[]> =>
      Promise.all(Array.from({ length: 20 }, async () => (await post(url, { sender })).verdict));
    const all = Array<string>(20).fill('delivered');
    assert.deepEqual(await round(), all);
    const before = connections();
    for (const socket of sockets) socket.resetAndDestroy();
    assert.deepEqual(await round(), all);
    assert.ok(connections() > before);
  });

  test('is enough of it: the second time is a failure', async () => {
    const { url, requests } = await serve(({ socket, inAll }) => {
      if (inAll === 1) socket.write(ok);
      else socket.end();
    });
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    assert.equal((await post(url, { sender })).verdict, 'retryable: connection');
    assert.equal(requests(), 3);
  });

  test('after the first byte of an answer is a failure: that request was heard', async () => {
    const { url, requests } = await serve(({ socket, onConnection }) => {
      if (onConnection === 1) socket.write(ok);
      else socket.end('H');
    });
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    assert.equal((await post(url, { sender })).verdict, 'retryable: connection');
    assert.equal(requests(), 2);
  });

  test('is not followed by another request whose connection is there only after the deadline', async () => {
    const sockets: Socket[] = [];
    const { url, requests, connections } = await serve(({ socket, inAll }) => {
      if (inAll === 1) socket.write(ok);
      else sockets.push(socket);
    });
    const lookups: (() => void)[] = [];
    const resolver: NameResolver = {
      resolve: (_name, callback) => {
        const answer = (): void => {
          callback(null, loopback);
        };
        if (requests() === 0) setImmediate(answer);
        else lookups.push(answer);
      },
      distrust: () => undefined,
    };
    const clock = new SimulatedClock();
    const sender = createSender({ resolver, clock });
    const named = url.replace('127.0.0.1', 'crm.example');
    assert.equal((await post(named, { sender })).verdict, 'delivered');
    const second = post(named, { sender });
    const [socket] = await eventually(() => some(sockets));
    // The deadline of the new connection is later than that of the request, by as much.
    await clock.pass(timeoutMs * 0.6);
    socket.end();
    const [answer] = await eventually(() => some(lookups));
    await clock.pass(timeoutMs * 0.6);
    assert.equal((await second).verdict, 'retryable: timeout');
    answer();
    await eventually(() => {
      assert.equal(connections(), 2);
    });
    assert.equal(requests(), 2);
  });

  test('gives the request no more time', async () => {
    const sockets: Socket[] = [];
    const { url } = await serve(({ socket, inAll }) => {
      if (inAll === 1) socket.write(ok);
      else sockets.push(socket);
    });
    const clock = new SimulatedClock();
    const sender = createSender({ clock });
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    const second = post(url, { sender });
    const [socket] = await eventually(() => some(sockets));
    await clock.pass(timeoutMs * 0.8);
    socket.end();
    await eventually(() => {
      assert.equal(sockets.length, 2);
    });
    await clock.pass(timeoutMs * 0.3);
    const { verdict, tookMs } = await second;
    assert.equal(verdict, 'retryable: timeout');
    assert.ok(tookMs < timeoutMs * 1.1);
  });
});

describe('what comes behind an answer, once the next request is on its way,', () => {
  const strays: [string, string][] = [
    ['bytes that are not HTTP', 'stray bytes\r\n'],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`],
    ['an interim answer and more', 'HTTP/1.1 103 Hint\r\n\r\nstray bytes\r\n'],
  ];

  for (const [what, stray] of strays)
    test(`(${what}) does not cost that request: it goes once more, on a new connection`, async () => {
      const { url, requests, connections } = await serve(({ socket, onConnection }) =>
        socket.write(onConnection === 1 ? ok : stray),
      );
      const sender = createSender();
      assert.equal((await post(url, { sender })).verdict, 'delivered');
      assert.equal((await post(url, { sender })).verdict, 'delivered');
      assert.deepEqual([requests(), connections()], [3, 2]);
    });

  test('and on the new connection too, is the endpoint: it does not speak HTTP', async () => {
    const { url, requests } = await serve(({ socket, inAll }) =>
      socket.write(inAll === 1 ? ok : 'stray bytes\r\n'),
    );
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    assert.equal((await post(url, { sender })).verdict, 'dead letter not-http');
    assert.equal(requests(), 3);
  });

  test('with a head that is whole, is the answer to that request', async () => {
    const { url, requests } = await serve(({ socket, inAll }) =>
      socket.write(
        inAll === 1 ? ok : 'HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      ),
    );
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    assert.equal((await post(url, { sender })).verdict, 'retryable: other');
    assert.equal(requests(), 2);
  });
});

test('a new connection that is closed without an answer is a failure, and nothing is sent again', async () => {
  const { url, requests } = await serve(({ socket }) => socket.end());
  assert.equal((await post(url, { sender: createSender() })).verdict, 'retryable: connection');
  assert.equal(requests(), 1);
});

test('the connection of a request that has no answer in time is closed', async () => {
  let isClosed = false;
  const { url } = await serve(({ socket }) => {
    socket.on('close', () => {
      isClosed = true;
    });
  });
  assert.equal((await post(url, { sender: createSender() })).verdict, 'retryable: timeout');
  await eventually(() => {
    assert.ok(isClosed);
  });
});
