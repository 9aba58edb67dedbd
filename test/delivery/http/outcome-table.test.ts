import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import type { TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CachingResolver, HostsFile } from '../../../src/delivery/http/name-resolver.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import { makeAuthority, makeCertificate } from './certificates.ts';
import {
  closeAfterwards,
  closedPort,
  createSender,
  flood,
  http,
  listen,
  post,
  raw,
} from './sender-scene.ts';

/**
 * The contract's table of answers and outcomes, row by row, each against a real socket. Its last row, the
 * retry window, is the engine's.
 */

const authority = makeAuthority('Authority of outcomes');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
const stranger = makeAuthority('Unknown Authority');

const dns = await startDnsServer(({ name, type }) => {
  if (name.startsWith('mixed')) {
    const values = ['93.184.216.34', '10.0.0.1'];
    return { records: type === 'A' ? values.map((value) => ({ type, value })) : [] };
  }
  if (name.startsWith('crm'))
    return { records: type === 'A' ? [{ type, value: '127.0.0.1' }] : [] };
  return { code: name.startsWith('failing') ? 'SERVFAIL' : 'NXDOMAIN' };
});
closeAfterwards(dns.close);
const resolver = new CachingResolver(systemClock, {
  servers: [dns.address],
  hostsFile: new HostsFile(systemClock, '/nonexistent'),
});
const sender = createSender({ resolver });
const strict = createSender({ resolver, allowNetworks: [] });
/** A private network to which this machine has no way. */
const roaming = createSender({ allowNetworks: ['fd00::/8'] });

const run = promisify(execFile);

type Row = [answer: string, outcome: string, url: () => string | Promise<string>];

function answers(respond: (response: ServerResponse) => unknown): () => Promise<string> {
  return () =>
    http((request, response) => {
      request.resume();
      respond(response);
    });
}

function status(code: number, headers: Record<string, string> = {}): () => Promise<string> {
  return answers((response) => response.writeHead(code, headers).end());
}

function tls(options: TlsOptions): () => Promise<string> {
  return async () => {
    const server = createTlsServer(options, (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => {
        requestsOverTls += 1;
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    server.on('tlsClientError', () => undefined);
    return `https://127.0.0.1:${await listen(server)}`;
  };
}

let requestsOverTls = 0;

const table: Row[] = [
  ...[200, 201, 202, 204, 206, 226, 299].map((code): Row => [`${code}`, 'delivered', status(code)]),
  ['200 with a body', 'delivered', answers((response) => response.end('thank you'))],
  [
    'more body than we read',
    'delivered',
    () =>
      raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        flood(socket, () => socket.write('x'.repeat(16_384)));
      }),
  ],

  ['no answer', 'retryable: timeout', () => raw(() => undefined)],
  ['half a head', 'retryable: timeout', () => raw('HTTP/1.1 200 OK\r\nContent-')],
  ['half a body', 'delivered', () => raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')],
  [
    'half a body of 404',
    'retryable: timeout',
    () => raw('HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nhalf'),
  ],
  ['connection refused', 'retryable: connection', closedPort],
  ['connection reset', 'retryable: connection', () => raw((socket) => socket.resetAndDestroy())],
  ['connection closed', 'retryable: connection', () => raw((socket) => socket.end())],
  ['no such name', 'retryable: dns', () => 'http://nowhere.example/'],
  ['failing name server', 'retryable: dns', () => 'http://failing.example/'],
  ['408', 'retryable: status-408', status(408)],
  ['410', 'retryable: status-410', status(410)],
  ['425', 'retryable: status-425', status(425)],
  ...[401, 403, 404, 405, 407].map((code): Row => {
    return [`${code}`, 'retryable: status-4xx', status(code)];
  }),
  ['429', 'retryable: status-429', status(429)],
  ...[500, 501, 502, 503, 504, 511, 599].map((code): Row => {
    return [`${code}`, 'retryable: status-5xx', status(code)];
  }),

  [
    'certificate expired',
    'retryable: tls',
    tls({ ...makeCertificate({ by: authority, validDays: [-9, -8] }) }),
  ],
  [
    'certificate for another host',
    'retryable: tls',
    tls({ ...makeCertificate({ by: authority, hosts: ['other.example'] }) }),
  ],
  ['self-signed certificate', 'dead letter tls-untrusted', tls({ ...makeCertificate({}) })],
  ['unknown authority', 'dead letter tls-untrusted', tls({ ...makeCertificate({ by: stranger }) })],

  ...[300, 301, 302, 303, 304, 307, 308].map((code): Row => {
    return [`${code}`, `dead letter http-${code}`, status(code, { location: '/elsewhere' })];
  }),
  ...[400, 402, 406, 409, 411, 413, 414, 415, 422, 431, 451, 499].map((code): Row => {
    return [`${code}`, `dead letter http-${code}`, status(code)];
  }),
  ['bytes that are not HTTP', 'dead letter not-http', () => raw('220 mail.example ESMTP\r\n')],
  [
    'more header than we read',
    'dead letter not-http',
    () => raw(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`),
  ],
  [
    'other TLS failure',
    'retryable: tls',
    async () => (await status(200)()).replace('http:', 'https:'),
  ],
  ...['600', '999', '000', '099'].map((code): Row => {
    return [code, 'retryable: other', () => raw(`HTTP/1.1 ${code} ?\r\nContent-Length: 0\r\n\r\n`)];
  }),
];

describe("the contract's table: what an endpoint answers, and what comes of it", () => {
  for (const [answer, outcome, url] of table)
    test(`${answer}: ${outcome}`, async () => {
      assert.equal((await post(await url(), { sender })).verdict, outcome);
    });

  test('with none of these certificates a request is sent', () => {
    assert.equal(requestsOverTls, 0);
  });

  for (const host of ['127.0.0.1', '0x7f.1', '[::ffff:7f00:1]', 'localhost'])
    test(`address in the URL not public (${host}): dead letter address-refused`, async () => {
      const { verdict } = await post(`http://${host}/`, { sender: strict });
      assert.equal(verdict, 'dead letter address-refused');
    });

  test('name that leads to an address that is not public: retryable: dns', async () => {
    const { verdict } = await post('http://mixed.example/', { sender: strict });
    assert.equal(verdict, 'retryable: dns');
  });

  test('network unreachable: retryable, and nobody was reached', async () => {
    const { outcome } = await post('http://[fd00:dead::1]:9/', { sender: roaming });
    assert.ok(outcome.kind === 'retryable' && outcome.unreached);
  });

  test('3xx: never followed, not even in a circle', async () => {
    let requests = 0;
    const url = await http((_request, response) => {
      requests += 1;
      response.writeHead(307, { location: '/' }).end();
    });
    assert.equal((await post(url)).verdict, 'dead letter http-307');
    assert.equal(requests, 1);
  });

  test('more body than we read: the connection is closed', async () => {
    const closed = Promise.withResolvers<undefined>();
    const url = await raw((socket) => {
      socket.on('close', () => {
        closed.resolve(undefined);
      });
      socket.write('HTTP/1.1 500 No\r\nContent-Length: 900000000\r\n\r\n');
      flood(socket, () => socket.write('x'.repeat(16_384)));
    });
    assert.equal((await post(url)).verdict, 'retryable: status-5xx');
    await closed.promise;
  });
});

test('no file descriptor for a connection, or to ask for a name: ours to mend, and nobody else is blamed', async () => {
  const { port } = new URL(await status(200)());
  const child = fileURLToPath(new URL('out-of-descriptors.child.ts', import.meta.url));
  // Node raises what is only a soft limit.
  const limited = 'ulimit -n 100 && exec "$0" "$@"';
  const args = ['-c', limited, process.execPath, child, port, dns.address];
  const { stdout } = await run('sh', args);
  assert.deepEqual(JSON.parse(stdout), {
    address: 'retryable: local',
    'address, over TLS': 'retryable: local',
    'one of two addresses': 'retryable: local',
    name: 'retryable: local',
    'name, over TLS': 'retryable: local',
    'name, with descriptors again': 'delivered',
  });
});

describe('Retry-After is honoured', () => {
  const inOneHour = new Date(Date.now() + 3_600_000);
  const weekday = inOneHour.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
  const [, day = '', month = '', year = '', time = ''] = inOneHour.toUTCString().split(' ');
  const oldest = `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
  const hour = 3_600_000;
  const waits: [string[], number | undefined][] = [
    [['120'], 120_000],
    [['0'], 0],
    [['3600'], hour],
    [[inOneHour.toUTCString()], hour],
    [[`${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`], hour],
    [[oldest], hour],
    [['Sun, 06 Nov 1994 08:49:37 GMT'], 0],
    [['99999999999'], 99_999_999_999_000],
    [['9'.repeat(400)], Number.MAX_SAFE_INTEGER],
    [['60', '120', '30'], 120_000],
    [['soon', '60'], 60_000],
    [['40.0'], 40_000],
    [['1.5'], 1_500],
    ...['-5', '.5', '1.', 'soon', '', '0x10', '1e3', '120, 60', '٣', 'Infinity', 'NaN'].map(
      (value): [string[], undefined] => [[value], undefined],
    ),
  ];

  for (const code of [429, 503])
    for (const [values, expected] of waits)
      test(`on ${code}: ${JSON.stringify(values).slice(0, 60)}`, async () => {
        const lines = values.map((value) => `Retry-After: ${value}\r\n`).join('');
        const bytes = Buffer.from(`HTTP/1.1 ${code} Wait\r\n${lines}Content-Length: 0\r\n\r\n`);
        const { outcome } = await post(await raw(bytes.toString('latin1')));
        const waitMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : NaN;
        // A date has whole seconds and says when, not how long.
        const leastMs = inOneHour.getTime() - Date.now() - 1_000;
        if (expected !== hour) assert.equal(waitMs, expected);
        else assert.ok(waitMs !== undefined && waitMs >= leastMs && waitMs <= hour);
      });

  test('only where there is another attempt', async () => {
    const { outcome } = await post(await status(400, { 'retry-after': '60' })());
    assert.ok(outcome.kind === 'permanent' && !('retryAfterMs' in outcome));
  });
});
