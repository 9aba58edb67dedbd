import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Registry } from 'prom-client';
import { exposeClientCertificates } from '../../../src/resources/client-certificate.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import type { ClientCertificate } from '../../../src/resources/schema/webhook-login.ts';
import { eventually } from '../../harness/eventually.ts';
import { RealEngine } from '../real-engine.ts';
import { makeAuthority, makeCertificate } from './certificates.ts';
import { closeAfterwards, createSender, leadingTo, listen, post } from './sender-scene.ts';

const authority = makeAuthority('Authority of Demanding Endpoints');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
const clients = makeAuthority('Client Authority');
const resolver = leadingTo('127.0.0.1');
/** Nothing here hangs, but on a busy machine a handshake with certificates may take longer than an attempt usually may. */
const timeoutMs = 60_000;

/** @param validDays from now */
function clientCertificate(
  name: string,
  validDays: readonly [number, number] = [-1, 1],
): ClientCertificate {
  const { cert, key } = makeCertificate({ name, by: clients, validDays });
  return { certificate: cert, privateKey: key };
}

interface DemandingServer {
  readonly url: string;
  /** The names in the certificates of its requests. */
  readonly seen: string[];
  readonly connections: () => number;
  /** Refuses this name from now on. */
  readonly refuse: (name: string) => void;
}

async function startServer(maxVersion?: 'TLSv1.2'): Promise<DemandingServer> {
  const seen: string[] = [];
  const refused = new Set<string>();
  const names = new Map<Socket, string>();
  let connections = 0;
  const server = createServer(
    {
      ...makeCertificate({ by: authority }),
      ca: clients.cert,
      requestCert: true,
      rejectUnauthorized: true,
      ...(maxVersion === undefined ? {} : { maxVersion }),
    },
    ({ socket }, response) => {
      const name = names.get(socket) ?? '';
      seen.push(name);
      response.writeHead(refused.has(name) ? 403 : 200).end();
    },
  );
  server.on('secureConnection', (socket) => {
    connections += 1;
    names.set(socket, String(socket.getPeerCertificate().subject.CN));
  });
  server.on('tlsClientError', () => undefined);
  const port = await listen(server);
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  return {
    url: `https://crm.example:${port}/`,
    seen,
    connections: () => connections,
    refuse: (name) => {
      refused.add(name);
    },
  };
}

describe('a server that demands a client certificate', () => {
  test('gets the one of the webhook through its renewal, and no event is refused', async () => {
    const { url, seen, refuse } = await startServer();
    const real = new RealEngine(createSender({ resolver, timeoutMs }));
    closeAfterwards(() => {
      real.stop();
    });
    real.apply('crm', { url, headers: {}, clientCertificate: clientCertificate('first') });
    let published = 0;
    const publishUntil = (name: string): Promise<void> =>
      eventually(() => {
        for (let n = 0; n < 5; n++) real.publish('crm');
        published += 5;
        assert.ok(seen.includes(name));
      });
    await publishUntil('first');
    real.apply('crm', { url, headers: {}, clientCertificate: clientCertificate('second') });
    await publishUntil('second');
    await eventually(() => {
      assert.equal(real.finished.length, published);
    });
    // What is sent from now on shows the new one alone.
    refuse('first');
    real.publish('crm');
    await eventually(() => {
      assert.equal(real.metrics.requests.get('delivered'), published + 1);
    });
    assert.deepEqual(real.written, []);
    assert.deepEqual(new Set(seen), new Set(['first', 'second']));
  });

  for (const maxVersion of [undefined, 'TLSv1.2'] as const)
    test(`never gets one destination's events by a connection of another (${maxVersion ?? 'TLS 1.3'})`, async () => {
      const { url, seen, connections } = await startServer(maxVersion);
      const sender = createSender({ resolver, timeoutMs });
      const shown = { one: clientCertificate('one'), other: clientCertificate('other') };
      for (const name of ['one', 'other', 'one', 'other'] as const) {
        const webhooks = [{ url, headers: {}, clientCertificate: shown[name] }];
        const { verdict } = await post(url, { sender, destination: { webhooks } });
        assert.equal(verdict, 'delivered');
      }
      assert.deepEqual(seen, ['one', 'other', 'one', 'other']);
      assert.equal(connections(), 2);
    });

  test('that knows another authority is told in the failure, which is tried again', async () => {
    const { url } = await startServer();
    const sender = createSender({ resolver, timeoutMs });
    const { cert, key } = makeCertificate({ name: 'stranger', by: makeAuthority('Strangers') });
    const webhooks = [
      { url, headers: {}, clientCertificate: { certificate: cert, privateKey: key } },
    ];
    const { verdict, outcome } = await post(url, { sender, destination: { webhooks } });
    assert.match(verdict, /^retryable: (?:tls|connection)$/);
    assert.doesNotMatch(outcome.detail ?? '', /PRIVATE KEY/);
  });
});

test('the expiry of the first client certificate of each enabled destination is a metric', async () => {
  const registry = new Registry();
  const url = 'https://crm.example/';
  const webhook = (days: number): Destination['webhooks'][number] => ({
    url,
    headers: {},
    clientCertificate: clientCertificate('postrider', [-1, days]),
  });
  const common = {
    kind: 'Destination',
    name: '',
    sources: [],
    payload: 'full',
    topic: 'shared',
  } as const;
  const destinations: Destination[] = [
    { ...common, id: 'later', enabled: true, webhooks: [webhook(9)] },
    { ...common, id: 'crm', enabled: true, webhooks: [webhook(5), webhook(3)] },
    { ...common, id: 'off', enabled: false, webhooks: [webhook(1)] },
    { ...common, id: 'none', enabled: true, webhooks: [{ url, headers: {} }] },
  ];
  exposeClientCertificates(registry, { destinations: () => destinations });
  const [metric] = await registry.getMetricsAsJSON();
  const inDays = metric?.values.map(({ labels, value }) => [
    labels['destination'],
    Math.round((value * 1_000 - Date.now()) / 86_400_000),
  ]);
  assert.deepEqual(inDays, [
    ['crm', 3],
    ['later', 9],
  ]);
});
