import assert from 'node:assert/strict';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import type { TlsOptions } from 'node:tls';
import { CachingResolver, HostsFile } from '../../../src/delivery/http/name-resolver.ts';
import type { NameResolver } from '../../../src/delivery/http/name-resolver.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import { makeCertificate } from './certificates.ts';
import { startFullListener } from './full-listener.ts';
import {
  closeAfterwards,
  closedPort,
  createSender,
  http,
  leadingTo,
  listen,
  post,
  raw,
  rawServer,
} from './sender-scene.ts';
import type { Result } from './sender-scene.ts';

/** Says of each outcome whether the attempt got as far as a connection. */
function told({ outcome, verdict }: Result): string {
  return outcome.kind === 'retryable' && outcome.unreached ? `${verdict}, unreached` : verdict;
}

const dns = await startDnsServer(({ name, type }) => {
  if (name.startsWith('silent')) return undefined;
  if (name.startsWith('failing')) return { code: 'SERVFAIL' };
  if (name.startsWith('inside'))
    return { records: type === 'A' ? [{ type, value: '10.0.0.1' }] : [] };
  return { code: 'NXDOMAIN' };
});
closeAfterwards(dns.close);
const resolver = new CachingResolver(systemClock, {
  servers: [dns.address],
  hostsFile: new HostsFile(systemClock, '/nonexistent'),
});
const sender = createSender({ resolver });

async function tls(options: TlsOptions): Promise<string> {
  const server = createTlsServer(options, (socket) => socket.on('error', () => undefined));
  server.on('tlsClientError', () => undefined);
  return `https://127.0.0.1:${await listen(server)}`;
}

function overTls(url: string): string {
  return url.replace('http:', 'https:');
}

type Row = [what: string, outcome: string, url: () => string | Promise<string>];

const nobody: readonly Row[] = [
  ['no such name', 'retryable: dns', () => 'http://nowhere.example/'],
  ['failing name server', 'retryable: dns', () => 'http://failing.example/'],
  ['name that leads inside', 'retryable: dns', () => 'http://inside.example/'],
  ['name server that does not answer', 'retryable: timeout', () => 'http://silent.example/'],
  [
    'name server that does not answer for TLS',
    'retryable: timeout',
    () => 'https://silent.example/',
  ],
  ['connection refused', 'retryable: connection', closedPort],
  ['connection for TLS refused', 'retryable: connection', async () => overTls(await closedPort())],
  [
    'address that does not answer',
    'retryable: timeout',
    async () => `http://127.0.0.1:${(await startFullListener()).port}/`,
  ],
  [
    'address that does not answer for TLS',
    'retryable: timeout',
    async () => `https://127.0.0.1:${(await startFullListener()).port}/`,
  ],
];

const somebody: readonly Row[] = [
  ['no answer', 'retryable: timeout', () => raw(() => undefined)],
  ['half an answer', 'retryable: timeout', () => raw('HTTP/1.1 200 OK\r\nContent-')],
  ['connection reset', 'retryable: connection', () => raw((socket) => socket.resetAndDestroy())],
  ['connection closed', 'retryable: connection', () => raw((socket) => socket.end())],
  ['503', 'retryable: status-5xx', () => raw('HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')],
  ['no TLS', 'retryable: tls', async () => overTls(await raw('220 mail.example ESMTP\r\n'))],
  [
    'no word of a handshake',
    'retryable: timeout',
    async () => overTls((await rawServer(() => undefined)).url),
  ],
  [
    'connection closed in the handshake',
    'retryable: connection',
    async () => overTls(await raw((socket) => socket.end())),
  ],
  [
    'connection reset in the handshake',
    'retryable: connection',
    async () => overTls(await raw((socket) => socket.resetAndDestroy())),
  ],
  [
    'certificate that is not trusted',
    'dead letter tls-untrusted',
    () => tls({ ...makeCertificate({}) }),
  ],
];

describe('an outcome says that nobody was reached', () => {
  for (const [what, outcome, url] of nobody)
    test(`by ${what}`, async () => {
      assert.equal(told(await post(await url(), { sender })), `${outcome}, unreached`);
    });
});

describe('an outcome does not say that nobody was reached', () => {
  for (const [what, outcome, url] of somebody)
    test(`by ${what}`, async () => {
      assert.equal(told(await post(await url(), { sender })), outcome);
    });

  test('where the request could not be made', async () => {
    const url = await http((_request, response) => response.end());
    const webhooks = [{ url, headers: { 'X-Team': 'a\nb' } }];
    assert.equal(told(await post(url, { destination: { webhooks } })), 'retryable: other');
  });
});

test('whether anybody was reached is not known where nothing comes back by a kept connection', async () => {
  let requests = 0;
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const sender = createSender();
  const isSilent = ({ outcome }: Result): boolean =>
    outcome.kind === 'retryable' && outcome.silent === true;
  assert.equal(told(await post(url, { sender })), 'delivered');
  const second = await post(url, { sender });
  assert.equal(told(second), 'retryable: timeout');
  assert.ok(isSilent(second));
  // Its connection was made, so there is somebody.
  const third = await post(url, { sender });
  assert.equal(told(third), 'retryable: timeout');
  assert.ok(!isSilent(third));
});

describe('where a kept connection is lost, an outcome tells of the one that was to follow it', () => {
  /** Resolves a name once, and then never again. */
  function resolvingOnce(): NameResolver {
    const known = leadingTo('127.0.0.1');
    let asked = 0;
    return {
      resolve: (name, callback) => {
        asked += 1;
        if (asked === 1) known.resolve(name, callback);
      },
      distrust: () => undefined,
    };
  }

  /** Of a request to an endpoint that answered one, and then left for good when `leaving` says. */
  async function toldOfSecond(
    leaving: 'before the request' | 'with the request',
    resolver: NameResolver,
  ): Promise<string> {
    const leave = (socket: Socket): void => {
      server.close();
      socket.destroy();
    };
    const kept = Promise.withResolvers<Socket>();
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        kept.resolve(socket);
        socket.once('data', () => {
          leave(socket);
        });
      });
    });
    const url = `http://crm.example:${await listen(server)}/`;
    const sender = createSender({ resolver });
    assert.equal(told(await post(url, { sender })), 'delivered');
    const socket = await kept.promise;
    // Where Node calls timers, and after an answer has brought its connection back: then sockets are read.
    await delay(1);
    if (leaving === 'before the request') leave(socket);
    return told(await post(url, { sender }));
  }

  for (const leaving of ['before the request', 'with the request'] as const) {
    test(`(lost ${leaving}) that is refused`, async () => {
      const outcome = await toldOfSecond(leaving, leadingTo('127.0.0.1'));
      assert.equal(outcome, 'retryable: connection, unreached');
    });

    test(`(lost ${leaving}) that is not there in time`, async () => {
      const outcome = await toldOfSecond(leaving, resolvingOnce());
      assert.equal(outcome, 'retryable: timeout, unreached');
    });
  }
});
