import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { AddressRefusedError, NameRefusedError } from './address-guard.ts';
import type { AddressGuard } from './address-guard.ts';
import { limitAge } from './age-limit.ts';
import { limitAnswers } from './answer-limit.ts';
import { parserOf } from './answer-parser.ts';
import type { Connections } from './connections.ts';
import type { IdleConnections } from './idle-connections.ts';
import type { NameResolver } from './name-resolver.ts';

export interface ConnectorOptions {
  readonly timeoutMs: number;
  readonly clock: SteadyClock;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
  readonly connections: Connections;
  readonly idle: IdleConnections;
}

/** undici's own gives the socket back at once, which its types don't say. */
type OpeningConnector = (...args: Parameters<buildConnector.connector>) => Socket;

/**
 * Of the attempt's time, for each of a name's addresses but the last. Node's 250 ms are over before an endpoint
 * answers that is far away, or to which a datagram was lost, which is repeated after 1 s; and what is left
 * then may be an IPv6 address on a network that has none.
 */
const addressShare = 0.25;

/**
 * Connects only to addresses that the guard lets through. Node does not call `lookup` for an address that
 * is written out, so that is checked before; a name's addresses are checked when they come, and connected
 * to as they were checked, so that a name server that changes its mind gains nothing; and what the socket
 * ended up with is checked before undici writes to it.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { clock, guard, connections, idle } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    lookup: guardedLookup(options),
    autoSelectFamilyAttemptTimeout: Math.ceil(options.timeoutMs * addressShare),
    // Said here, because NODE_TLS_REJECT_UNAUTHORIZED=0 turns it off wherever it is left open.
    rejectUnauthorized: true,
    // A resumed session is not verified again: not against the host's name, nor against the date.
    maxCachedSessions: 0,
  }) as OpeningConnector;
  return (target, callback) => {
    const host = target.hostname;
    const fail = (error: Error): void => {
      connections.failed(() => {
        callback(error, null);
      });
    };
    if (isIP(host) !== 0 && !guard.allows(host)) {
      process.nextTick(fail, new AddressRefusedError(host));
      return;
    }
    // RFC 6066: the name that TLS asks for has no dot at its end.
    const absolute = host.endsWith('.') ? { ...target, servername: withoutRoot(host) } : target;
    const { caller } = connections;
    const opening = connect(absolute, (error, socket) => {
      if (error !== null) {
        fail(error);
        return;
      }
      const address = socket.remoteAddress;
      if (address !== undefined && guard.allows(address)) {
        limitAnswers(socket);
        connections.opened(socket, () => {
          callback(null, socket);
        });
        const parser = parserOf(socket);
        if (parser === undefined) return;
        idle.watch(socket, parser);
        limitAge(socket, parser, clock);
        return;
      }
      socket.destroy();
      // A peer that hung up at once has no address any more.
      fail(address === undefined ? connectionLost(host) : refusal(host, address));
    });
    if (caller === undefined) return;
    // Before undici's own listener, which may end the request there and then.
    opening.prependOnceListener('connect', () => {
      caller.isReached = true;
    });
  };
}

function connectionLost(host: string): Error {
  return Object.assign(new Error(`${host} closed the connection`), { code: 'ECONNRESET' });
}

function refusal(host: string, address: string): Error {
  const isSaidByUrl = isIP(host) !== 0 || isLocalhost(host);
  return isSaidByUrl ? new AddressRefusedError(address) : new NameRefusedError(host, address);
}

function guardedLookup({ guard, resolver }: ConnectorOptions): LookupFunction {
  return (hostname, options, callback) => {
    const name = withoutRoot(hostname);
    const reply = (error: Error | null, addresses: readonly LookupAddress[]): void => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      // One forbidden address refuses all: who mixes them is probing.
      const forbidden = addresses.find(({ address }) => !guard.allows(address));
      const first = addresses[0];
      if (forbidden !== undefined) {
        resolver.distrust(name);
        callback(refusal(hostname, forbidden.address), []);
      } else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    };
    if (isLocalhost(hostname)) process.nextTick(reply, null, loopback(guard));
    else resolver.resolve(name, reply);
  };
}

/** RFC 6761 §6.3: such names are loopback, whatever a name server would say. */
function isLocalhost(hostname: string): boolean {
  const name = withoutRoot(hostname);
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Nobody else chose these two, so one of them may be allowed without the other. */
function loopback(guard: AddressGuard): readonly LookupAddress[] {
  const allowed = loopbackAddresses.filter(({ address }) => guard.allows(address));
  return allowed.length > 0 ? allowed : loopbackAddresses;
}

const loopbackAddresses: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

function withoutRoot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}
