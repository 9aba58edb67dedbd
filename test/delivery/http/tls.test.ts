import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import type { Server, TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import { asIssuer, makeAuthority, makeCertificate } from './certificates.ts';
import type { Certificate } from './certificates.ts';
import {
  closeAfterwards,
  createSender,
  flood,
  leadingTo,
  listen,
  post,
  raw,
  rawServer,
} from './sender-scene.ts';

const authority = makeAuthority('Test Authority');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);

const stranger = makeAuthority('Unknown Authority');
const namesake = makeAuthority('Test Authority');
const intermediate = makeAuthority('Intermediate', { by: authority });
const strangersIntermediate = makeAuthority('Intermediate', { by: stranger });
const expiredIntermediate = makeAuthority('Intermediate', { by: authority, validDays: [-9, -8] });
const noAuthority = asIssuer('crm.example', authority);

const resolver = leadingTo('127.0.0.1');
const sender = createSender({ resolver, timeoutMs: 5_000 });

interface TlsServer {
  readonly server: Server;
  readonly port: number;
  /** What arrived after a handshake. */
  readonly received: () => string;
}

/** A server that keeps everything that it is told, and answers what looks like a request. */
async function serve(options: TlsOptions): Promise<TlsServer> {
  let received = '';
  const server = createTlsServer(options, (socket) => {
    socket.on('error', () => undefined);
    closeAfterwards(() => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (received.includes('{"a":1}')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  server.on('tlsClientError', () => undefined);
  return { server, port: await listen(server), received: () => received };
}

const accepted: readonly [string, Certificate][] = [
  ['of a trusted authority', makeCertificate({ by: authority })],
  ['of an intermediate that comes with it', makeCertificate({ by: intermediate }, intermediate)],
];

const untrusted: readonly [string, Certificate][] = [
  ['signed by itself', makeCertificate({})],
  ['of an unknown authority', makeCertificate({ by: stranger })],
  ['of an unknown authority that comes with it', makeCertificate({ by: stranger }, stranger)],
  ['of an intermediate that does not come with it', makeCertificate({ by: intermediate })],
  [
    "of an unknown authority's intermediate",
    makeCertificate({ by: strangersIntermediate }, strangersIntermediate),
  ],
];

const mayBeRenewed: readonly [string, Certificate][] = [
  ['that has expired', makeCertificate({ by: authority, validDays: [-9, -8] })],
  ['that has expired, and is signed by itself', makeCertificate({ validDays: [-9, -8] })],
  ['that is not valid yet', makeCertificate({ by: authority, validDays: [8, 9] })],
  [
    'of an intermediate that has expired',
    makeCertificate({ by: expiredIntermediate }, expiredIntermediate),
  ],
  ['for another host', makeCertificate({ by: authority, hosts: ['other.example'] })],
  ['for the host below', makeCertificate({ by: authority, hosts: ['*.crm.example'] })],
  ['for no host at all', makeCertificate({ by: authority, hosts: [] })],
  ['by another endpoint, which is no authority', makeCertificate({ by: noAuthority }, noAuthority)],
  ["by an authority with a trusted one's name", makeCertificate({ by: namesake })],
];

describe('a certificate', () => {
  for (const [title, certificate] of accepted)
    test(`${title} is accepted`, async () => {
      const { port, received } = await serve({ ...certificate });
      for (const host of ['crm.example', '127.0.0.1'])
        assert.equal((await post(`https://${host}:${port}/`, { sender })).verdict, 'delivered');
      assert.match(received(), /^POST \/ HTTP\/1\.1\r\n/);
    });

  for (const [title, certificate] of untrusted)
    test(`${title} gets no request and is final`, async () => {
      const { port, received } = await serve({ ...certificate });
      const { verdict } = await post(`https://crm.example:${port}/`, { sender });
      assert.deepEqual([verdict, received()], ['dead letter tls-untrusted', '']);
    });

  for (const [title, certificate] of mayBeRenewed)
    test(`${title} gets no request, and may be tried again`, async () => {
      const { port, received } = await serve({ ...certificate });
      const { verdict } = await post(`https://crm.example:${port}/`, { sender });
      assert.deepEqual([verdict, received()], ['retryable: tls', '']);
    });

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
    test(`of an endpoint that demands one of ours is told, in ${maxVersion}`, async () => {
      const demands = { requestCert: true, rejectUnauthorized: true, maxVersion };
      const { port } = await serve({ ...makeCertificate({ by: authority }), ...demands });
      const { outcome, verdict } = await post(`https://crm.example:${port}/`, { sender });
      assert.equal(verdict, 'retryable: tls');
      assert.match(outcome.detail ?? '', /demands? a client certificate[;,]/);
    });

  test('without its intermediate one is told so', async () => {
    const { port } = await serve({ ...makeCertificate({ by: intermediate }) });
    const { outcome } = await post(`https://crm.example:${port}/`, { sender });
    assert.match(
      outcome.detail ?? '',
      /^UNABLE_TO_VERIFY_LEAF_SIGNATURE: .* the intermediate one is/,
    );
  });

  test('for a thousand other hosts is named in a line, not with all of them', async () => {
    const hosts = Array.from({ length: 1_000 }, (_, i) => `shop-${i}.other.example`);
    const { port } = await serve({ ...makeCertificate({ by: authority, hosts }) });
    const { outcome } = await post(`https://crm.example:${port}/`, { sender });
    const detail = outcome.kind === 'retryable' ? outcome.detail : assert.fail(outcome.kind);
    assert.match(detail, /^ERR_TLS_CERT_ALTNAME_INVALID: .*crm\.example.*shop-0\..*…$/);
    assert.ok(detail.length < 350, `${detail.length} characters`);
  });

  test('is verified whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    const { port, received } = await serve({ ...makeCertificate({}) });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const { verdict } = await post(`https://crm.example:${port}/`, { sender });
      assert.deepEqual([verdict, received()], ['dead letter tls-untrusted', '']);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });

  test('of an authority in NODE_EXTRA_CA_CERTS is accepted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-tls-'));
    closeAfterwards(() => rm(folder, { recursive: true }));
    const file = join(folder, 'authority.pem');
    await writeFile(file, stranger.cert);
    const { port } = await serve({ ...makeCertificate({ by: stranger }) });
    const scene = new URL('sender-scene.ts', import.meta.url).href;
    const script = `const { post } = await import('${scene}');
      console.log('verdict: ' + (await post('https://127.0.0.1:${port}/')).verdict);`;
    const child = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: file, NODE_TEST_CONTEXT: undefined },
    });
    assert.match((await child).stdout, /verdict: delivered/);
  });
});

describe('the name that TLS asks for', () => {
  test("is the URL's host, without a dot at its end, and none for an address", async () => {
    const asked: (string | false | null)[] = [];
    const server = createTlsServer({ ...makeCertificate({ by: authority }) }, (socket) => {
      asked.push(socket.servername);
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    });
    const port = await listen(server);
    for (const host of ['crm.example', 'CRM.example.', '127.0.0.1'])
      assert.equal((await post(`https://${host}:${port}/`, { sender })).verdict, 'delivered', host);
    assert.deepEqual(asked, ['crm.example', 'crm.example', false]);
  });
});

describe('a handshake that fails for another reason may be tried again', () => {
  test('with a server of TLS 1.0', async () => {
    const { port, received } = await serve({
      ...makeCertificate({ by: authority }),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const { verdict } = await post(`https://crm.example:${port}/`, { sender });
    assert.deepEqual([verdict, received()], ['retryable: tls', '']);
  });

  test('with a server that wants a certificate of ours', async () => {
    const { port, received } = await serve({
      ...makeCertificate({ by: authority }),
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion: 'TLSv1.2',
    });
    const { verdict } = await post(`https://crm.example:${port}/`, { sender });
    assert.deepEqual([verdict, received()], ['retryable: tls', '']);
  });

  test('with a server that speaks HTTP there', async () => {
    const url = await raw('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
    const { verdict } = await post(url.replace('http:', 'https:'), { sender });
    assert.equal(verdict, 'retryable: tls');
  });

  test('with a server that hangs up', async () => {
    const url = await raw((socket) => socket.end());
    const { verdict } = await post(url.replace('http:', 'https:'), { sender });
    assert.equal(verdict, 'retryable: connection');
  });

  test('with a server that says nothing', async () => {
    const { url, received } = await rawServer(() => undefined);
    const hasty = createSender();
    const { verdict } = await post(url.replace('http:', 'https:'), { sender: hasty });
    assert.equal(verdict, 'retryable: timeout');
    assert.ok(!received().includes('POST'));
  });
});

test('each answer on a TLS connection may be as long as one without, and no longer', async () => {
  const answers = 20;
  let connections = 0;
  let requests = 0;
  const body = 'x'.repeat(60_000);
  const server = createTlsServer({ ...makeCertificate({ by: authority }) }, (socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    closeAfterwards(() => socket.destroy());
    socket.on('data', () => {
      requests += 1;
      if (requests <= answers)
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      else flood(socket, () => socket.write('\r\n'.repeat(8_192)));
    });
  });
  const url = `https://crm.example:${await listen(server)}/`;
  for (let i = 0; i < answers; i++) {
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    // undici needs a turn to put the connection back.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  assert.equal(connections, 1);
  assert.equal((await post(url, { sender })).verdict, 'dead letter not-http');
});
