import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { AddressRefusedError } from './address-guard.ts';
import type { AddressGuard } from './address-guard.ts';
import type { NameResolver } from './name-resolver.ts';

export interface ConnectorOptions {
  readonly timeoutMs: number;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
}

/**
 * Connects only to addresses that the guard lets through. Node does not call `lookup` for an address that
 * is written out, so that is checked before; a name's addresses are checked when they come, and connected
 * to as they were checked, so that a name server that changes its mind gains nothing; and what the socket
 * ended up with is checked before undici writes to it.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { guard } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    lookup: guardedLookup(options),
  });
  return (target, callback) => {
    const host = target.hostname;
    if (isIP(host) !== 0 && !guard.allows(host)) {
      process.nextTick(callback, new AddressRefusedError(host), null);
      return;
    }
    connect(target, (error, socket) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const address = socket.remoteAddress;
      if (address !== undefined && guard.allows(address)) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      // A peer that hung up at once has no address any more.
      const refused = new AddressRefusedError(address ?? host);
      callback(address === undefined ? connectionLost(host) : refused, null);
    });
  };
}

function connectionLost(host: string): Error {
  return Object.assign(new Error(`${host} closed the connection`), { code: 'ECONNRESET' });
}

function guardedLookup({ guard, resolver }: ConnectorOptions): LookupFunction {
  return (hostname, options, callback) => {
    resolver.resolve(hostname, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      // One forbidden address refuses all: who mixes them is probing.
      const forbidden = addresses.find(({ address }) => !guard.allows(address));
      const first = addresses[0];
      if (forbidden !== undefined) callback(new AddressRefusedError(forbidden.address), []);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    });
  };
}
