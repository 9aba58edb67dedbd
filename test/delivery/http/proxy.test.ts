import assert from 'node:assert/strict';
import { createServer as createHttpsServer } from 'node:https';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import { Proxy } from '../../../src/delivery/http/proxy.ts';
import type { SenderSetup } from './sender-scene.ts';
import { startConnectProxy, type ConnectProxy } from '../../harness/connect-proxy.ts';
import { eventually } from '../../harness/eventually.ts';
import { RealEngine } from '../real-engine.ts';
import { makeAuthority, makeCertificate } from './certificates.ts';
import {
  closeAfterwards,
  closedPort,
  createSender,
  http,
  listen,
  post,
  rawServer,
} from './sender-scene.ts';

const authority = makeAuthority('Authority of Proxied Endpoints');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);

/** Names that lead nowhere but through the proxy. */
const resolver = {
  resolve: (name: string, callback: (error: Error | null, addresses: []) => void): void => {
    process.nextTick(callback, new Error(`nobody should ask for ${name}`), []);
  },
  distrust: (): void => undefined,
};

async function startProxy(): Promise<ConnectProxy> {
  const proxy = await startConnectProxy();
  closeAfterwards(() => proxy.close());
  return proxy;
}

function senderThrough(
  { port }: Pick<ConnectProxy, 'port'>,
  {
    login = '',
    without = [] as readonly string[],
    ...setup
  }: SenderSetup & {
    readonly login?: string;
    readonly without?: readonly string[];
  } = {},
): HttpSender {
  const proxy = new Proxy(`http://${login}127.0.0.1:${port}`, without);
  return createSender({ resolver, proxy, timeoutMs: 1_000, ...setup });
}

/** The port of an endpoint that takes everything. */
async function endpoint(): Promise<string> {
  return new URL(await http((_request, response) => response.end())).port;
}

async function encryptedEndpoint(): Promise<number> {
  const server = createHttpsServer(makeCertificate({ by: authority }), (_request, response) => {
    response.end();
  });
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  return listen(server);
}

describe('through DELIVERY_PROXY', () => {
  for (const protocol of ['http', 'https'] as const)
    test(`events reach an endpoint with ${protocol}, by a tunnel that is kept`, async () => {
      const proxy = await startProxy();
      const port = protocol === 'http' ? await endpoint() : await encryptedEndpoint();
      const sender = senderThrough(proxy, { timeoutMs: 5_000 });
      for (let n = 0; n < 3; n++) {
        const { verdict } = await post(`${protocol}://crm.example:${port}/`, { sender });
        assert.equal(verdict, 'delivered');
      }
      assert.deepEqual(proxy.asked, [`crm.example:${port}`]);
    });

  test('the certificate of an endpoint is verified as without one', async () => {
    const proxy = await startProxy();
    const sender = senderThrough(proxy, { timeoutMs: 5_000 });
    const { verdict } = await post(`https://other.example:${await encryptedEndpoint()}/`, {
      sender,
    });
    assert.equal(verdict, 'retryable: tls');
  });

  test('a login is sent, with its special characters', async () => {
    const proxy = await startProxy();
    let given: string | undefined;
    proxy.answer = ({ headers }) => {
      given = headers['proxy-authorization'];
      return undefined;
    };
    const sender = senderThrough(proxy, { login: 'user:p%40ss%3A@' });
    await post(`http://crm.example:${await endpoint()}/`, { sender });
    assert.equal(given, `Basic ${Buffer.from('user:p@ss:').toString('base64')}`);
  });

  test('a URL with an address that is not public, or localhost, is refused without asking the proxy', async () => {
    const proxy = await startProxy();
    const sender = senderThrough(proxy, { allowNetworks: [] });
    for (const host of ['10.0.0.1', '[::1]', 'localhost', 'a.localhost'])
      assert.equal(
        (await post(`http://${host}:9/`, { sender })).verdict,
        'dead letter address-refused',
      );
    assert.deepEqual(proxy.asked, []);
  });

  test('hosts of DELIVERY_NO_PROXY are reached without it', async () => {
    const proxy = await startProxy();
    const sender = senderThrough(proxy, { without: ['127.0.0.0/8'] });
    const { verdict } = await post(`http://127.0.0.1:${await endpoint()}/`, { sender });
    assert.equal(verdict, 'delivered');
    assert.deepEqual(proxy.asked, []);
  });

  for (const [what, answer, verdict, detail] of [
    [
      'asks for a login',
      'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic',
      'retryable: proxy',
      /asks for a login, and DELIVERY_PROXY has none$/,
    ],
    ['fails', 'HTTP/1.1 500 Oops', 'retryable: proxy', /answered 500 to CONNECT crm\.example/],
    ['has too much to do', 'HTTP/1.1 429 Slow', 'retryable: proxy', /answered 429/],
    ['is no HTTP proxy', 'SSH-2.0', 'retryable: proxy', /something that is no HTTP$/],
    [
      'may not reach the endpoint',
      'HTTP/1.1 407 Request rejected by proxy\r\nX-Smokescreen-Error: denied',
      'retryable: connection',
      /answered 407 to CONNECT crm\.example/,
    ],
    ['does not reach the endpoint', 'HTTP/1.1 503 No', 'retryable: connection', /answered 503/],
    ['waits for the endpoint in vain', 'HTTP/1.1 504 Late', 'retryable: timeout', /answered 504/],
  ] as const)
    test(`a proxy that ${what} is told so`, async () => {
      const proxy = await startProxy();
      proxy.answer = () => answer;
      const result = await post('http://crm.example/', { sender: senderThrough(proxy) });
      assert.equal(result.verdict, verdict);
      assert.match(result.outcome.detail ?? '', detail);
    });

  test('a proxy that is away, or closes the connection, has failed, and no endpoint', async () => {
    const away = { port: Number(new URL(await closedPort()).port) };
    const closing = await rawServer((socket) => socket.end());
    for (const proxy of [away, { port: Number(new URL(closing.url).port) }]) {
      const sender = senderThrough(proxy, { login: 'user:zq1@' });
      const { verdict, outcome } = await post('http://crm.example/', { sender });
      assert.equal(verdict, 'retryable: proxy');
      assert.doesNotMatch(outcome.detail ?? '', /zq1|user/);
    }
  });

  test('a proxy that takes the connection and says nothing looks like an endpoint that hangs', async () => {
    const silent = await rawServer(() => undefined);
    const sender = senderThrough({ port: Number(new URL(silent.url).port) });
    const { verdict } = await post('http://crm.example/', { sender });
    assert.equal(verdict, 'retryable: timeout');
  });

  test('while the proxy is away no attempt is spent and no breaker opens, and events go out when it is back', async () => {
    const proxy = await startConnectProxy();
    const { port } = proxy;
    const url = `http://crm.example:${await endpoint()}/`;
    const real = new RealEngine(senderThrough({ port }));
    closeAfterwards(() => {
      real.stop();
    });
    real.apply('crm', { url, headers: {} });
    real.publish('crm');
    await eventually(() => {
      assert.equal(real.finished.length, 1);
    });
    await proxy.close();
    for (let n = 0; n < 40; n++) real.publish('crm');
    await eventually(() => {
      assert.ok((real.metrics.requests.get('proxy') ?? 0) >= 2);
      assert.equal(real.engine.state().isCutOff, true);
    });
    assert.deepEqual(real.engine.state().breakers, { closed: 0, open: 0, 'half-open': 0 });
    const again = await startConnectProxy(port);
    closeAfterwards(() => again.close());
    await eventually(() => {
      assert.equal(real.finished.length, 41);
    });
    assert.deepEqual(real.written, []);
    assert.equal(real.engine.state().isCutOff, false);
  });
});

describe('DELIVERY_NO_PROXY', () => {
  const proxy = new Proxy('http://proxy:3128', ['crm.example', '.corp', '10.0.0.0/8', '::1']);
  for (const [host, isThrough] of [
    ['crm.example', false],
    ['eu.crm.example', false],
    ['notcrm.example', true],
    ['git.corp', false],
    ['corp.example', true],
    ['10.1.2.3', false],
    ['11.1.2.3', true],
    ['::1', false],
    ['::2', true],
  ] as const)
    test(`${isThrough ? 'leads' : 'does not lead'} ${host} through the proxy`, () => {
      assert.equal(proxy.leadsTo(host), isThrough);
    });
});
