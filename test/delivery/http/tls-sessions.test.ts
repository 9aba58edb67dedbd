import assert from 'node:assert/strict';
import { randomBytes, X509Certificate } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import type { Server, TlsOptions } from 'node:tls';
import { describe, mock, test } from 'node:test';
import { TlsOpener } from '../../../src/delivery/http/tls.ts';
import type { ResumingSocket } from '../../../src/delivery/http/tls.ts';
import { TlsSessions } from '../../../src/delivery/http/tls-sessions.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { makeAuthority, makeCertificate } from './certificates.ts';
import { closeAfterwards, createSender, leadingTo, listen, post } from './sender-scene.ts';
import type { NameResolver } from '../../../src/delivery/http/name-resolver.ts';

const authority = makeAuthority('Authority of sessions');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
const hosts = ['crm.example', 'www.example'];
const certificate = makeCertificate({ by: authority, hosts });

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** A new ticket key would end all sessions. */
const ticketKeys = Buffer.alloc(48, 1);
const versions = ['TLSv1.2', 'TLSv1.3'] as const;

interface Scene {
  readonly server: Server;
  readonly clock: SimulatedClock;
  /** Sends a request on a new connection: whether its session was resumed, or what became of it. */
  readonly send: (host?: string) => Promise<'resumed' | 'full' | (string & {})>;
}

/** Ends each connection after its answer. */
async function open(
  options: TlsOptions = {},
  resolver: NameResolver = leadingTo('127.0.0.1'),
): Promise<Scene> {
  const clock = new SimulatedClock(Date.now());
  const sender = createSender({ clock, resolver, timeoutMs: dayMs });
  let last = '';
  const server = createServer({ ...certificate, ticketKeys, ...options }, (socket) => {
    last = socket.isSessionReused() ? 'resumed' : 'full';
    socket.on('error', () => undefined);
    closeAfterwards(() => socket.destroy());
    socket.once('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'),
    );
  });
  server.on('tlsClientError', () => undefined);
  const port = await listen(server, '0.0.0.0');
  const send = async (host = 'crm.example'): Promise<string> => {
    const { verdict } = await post(`https://${host}:${port}/`, { sender });
    return verdict === 'delivered' ? last : verdict;
  };
  return { server, clock, send };
}

async function sendTimes(count: number, { send }: Scene): Promise<string[]> {
  const results: string[] = [];
  for (let i = 0; i < count; i++) results.push(await send());
  return results;
}

for (const maxVersion of versions)
  describe(`a session (${maxVersion})`, () => {
    test('is resumed by the next connection', async () => {
      const scene = await open({ maxVersion });
      assert.deepEqual(await sendTimes(3, scene), ['full', 'resumed', 'resumed']);
    });

    test('is not resumed for another host of the same server', async () => {
      const { send } = await open({ maxVersion });
      const results = [await send('crm.example'), await send('www.example')];
      assert.deepEqual([...results, await send('crm.example')], ['full', 'full', 'resumed']);
    });

    test('is not resumed at another address, and not at the first one again', async () => {
      let address = '127.0.0.1';
      const resolver: NameResolver = {
        resolve: (_name, callback) => {
          process.nextTick(callback, null, [{ address, family: 4 }]);
        },
        distrust: () => undefined,
      };
      const { send } = await open({ maxVersion }, resolver);
      const results = [await send()];
      address = '127.0.0.2';
      results.push(await send());
      address = '127.0.0.1';
      results.push(await send());
      assert.deepEqual(results, ['full', 'full', 'full']);
    });

    test('is offered three times to a server that resumes none, and again after ten minutes', async () => {
      const offers: boolean[] = [];
      const scene = await open({ maxVersion });
      const setSession = Reflect.get(TLSSocket.prototype, 'setSession') as (
        this: ResumingSocket,
        session: Buffer,
      ) => void;
      mock.method(
        TLSSocket.prototype as ResumingSocket,
        'setSession',
        function (this: ResumingSocket, session: Buffer) {
          offers[offers.length - 1] = true;
          setSession.call(this, session);
        },
      );
      const sendAfterRestart = async (): Promise<void> => {
        offers.push(false);
        // Another key, as if each request came to another machine.
        scene.server.setTicketKeys(randomBytes(48));
        assert.equal(await scene.send(), 'full');
      };
      for (let n = 0; n < 6; n++) await sendAfterRestart();
      await scene.clock.pass(10 * minuteMs);
      for (let n = 0; n < 2; n++) await sendAfterRestart();
      mock.restoreAll();
      assert.deepEqual(offers, [false, true, true, true, false, false, false, true]);
    });

    test('is not resumed after a handshake that failed', async () => {
      const scene = await open({ maxVersion });
      await scene.send();
      scene.server.prependOnceListener('connection', (socket: Socket) => {
        socket.destroy();
      });
      const expected = ['retryable: connection', 'full', 'resumed'];
      assert.deepEqual(await sendTimes(3, scene), expected);
    });

    test('of a certificate for another host is not resumed, because it was not verified', async () => {
      const other = makeCertificate({ by: authority, hosts: ['other.example'] });
      const scene = await open({ ...other, maxVersion });
      assert.deepEqual(await sendTimes(2, scene), ['retryable: tls', 'retryable: tls']);
      scene.server.setSecureContext({ ...certificate, ticketKeys, maxVersion });
      assert.deepEqual(await sendTimes(2, scene), ['full', 'resumed']);
    });

    test('is not resumed once its certificate has ended, or is not valid yet', async () => {
      const scene = await open({ maxVersion });
      assert.deepEqual(await sendTimes(2, scene), ['full', 'resumed']);
      scene.clock.set(2 * dayMs);
      assert.equal(await scene.send(), 'full');
      scene.clock.set(-4 * dayMs);
      assert.equal(await scene.send(), 'full');
    });

    test('of an intermediate that ends earlier is not resumed any more then', async () => {
      const short = makeAuthority('Intermediate', { by: authority, validDays: [-1, 0.001] });
      const shown = makeCertificate({ by: short, hosts }, short);
      const scene = await open({ ...shown, maxVersion });
      assert.deepEqual(await sendTimes(2, scene), ['full', 'resumed']);
      scene.clock.set(0.002 * dayMs);
      assert.equal(await scene.send(), 'full');
    });

    test('is resumed for ten minutes after its certificate was verified, however often', async () => {
      const { clock, send } = await open({ maxVersion, sessionTimeout: 3_600 });
      const results: string[] = [];
      for (let minute = 0; minute <= 12; minute += 3) {
        results.push(await send());
        await clock.pass(3 * minuteMs);
      }
      assert.deepEqual(results, ['full', 'resumed', 'resumed', 'resumed', 'full']);
    });

    test('stands for the certificate that was verified: another one is noticed after ten minutes', async () => {
      const { clock, send, server } = await open({ maxVersion });
      assert.equal(await send(), 'full');
      const other = makeCertificate({ by: authority, hosts: ['other.example'] });
      server.setSecureContext({ ...other, ticketKeys, maxVersion });
      assert.equal(await send(), 'resumed');
      await clock.pass(10 * minuteMs);
      assert.equal(await send(), 'retryable: tls');
      assert.equal(await send(), 'retryable: tls');
    });
  });

/** Node's servers give a resumed connection no further session; others do. */
class RenewingSocket extends EventEmitter {
  readonly authorized = true;
  readonly destroyed = false;
  readonly shown = new X509Certificate(certificate.cert);
  offered: Buffer | undefined = undefined;

  isSessionReused(): boolean {
    return this.offered !== undefined;
  }

  setSession(session: Buffer): void {
    this.offered = session;
  }
}

test('a session that a resumed connection brings counts from when the certificate was verified', async () => {
  const clock = new SimulatedClock(Date.now());
  const opener = new TlsOpener(clock);
  const offered: (string | undefined)[] = [];
  for (let minute = 0; minute <= 12; minute += 3) {
    const socket = new RenewingSocket();
    opener.resume(socket as unknown as ResumingSocket, 'crm.example:443', '192.0.2.1');
    offered.push(socket.offered?.toString());
    socket.emit('session', Buffer.from(`of minute ${minute}`));
    await clock.pass(3 * minuteMs);
  }
  const expected = [undefined, 'of minute 0', 'of minute 3', 'of minute 6', undefined];
  assert.deepEqual(offered, expected);
});

describe('kept sessions', () => {
  const clock = new SimulatedClock();
  const nowMs = clock.now();
  const verification = {
    address: '192.0.2.1',
    atMs: 0,
    validity: { fromMs: nowMs - 1, untilMs: nowMs + dayMs },
  };

  test('are bounded in number, and the longest unused one goes first', () => {
    const sessions = new TlsSessions(clock);
    const session = Buffer.alloc(1);
    for (let i = 0; i < 2_000; i++)
      sessions.keep(`crm-${i}.example:443`, { verification, session });
    assert.ok(sessions.find('crm-0.example:443', verification.address));
    sessions.keep('one-more.example:443', { verification, session });
    const isKept = (origin: string): boolean =>
      sessions.find(origin, verification.address) !== undefined;
    assert.deepEqual(
      ['crm-0.example:443', 'crm-1.example:443', 'one-more.example:443'].map(isKept),
      [true, false, true],
    );
  });

  test('are bounded in size', () => {
    const sessions = new TlsSessions(clock);
    for (const bytes of [8_192, 8_193]) {
      sessions.keep('crm.example:443', { verification, session: Buffer.alloc(bytes) });
      const found = sessions.find('crm.example:443', verification.address);
      assert.equal(found?.session.length, bytes === 8_192 ? bytes : undefined);
    }
  });
});
