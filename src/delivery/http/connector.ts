import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { errors } from 'undici';
import type { buildConnector } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { AddressRefusedError } from './address-guard.ts';
import type { AddressGuard } from './address-guard.ts';
import { limitAge } from './age-limit.ts';
import { limitAnswers } from './answer-limit.ts';
import { parserOf } from './answer-parser.ts';
import type { Caller, Connections } from './connections.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { guardedLookup, refusal } from './guarded-lookup.ts';
import type { IdleConnections } from './idle-connections.ts';
import type { NameResolver } from './name-resolver.ts';
import { TlsOpener } from './tls-opener.ts';

export interface ConnectorOptions {
  readonly timeoutMs: number;
  readonly clock: SteadyClock;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
  readonly connections: Connections;
  readonly idle: IdleConnections;
  /** After `timeoutMs`. */
  readonly deadlines: Deadlines;
}

type Callback = buildConnector.Callback;

/**
 * Share of the attempt's time for each of a name's addresses except the last. Node's default of 250 ms is too
 * short for an endpoint that is far away, or if one packet is lost, which is repeated after 1 s; the
 * addresses that are left then may be IPv6 addresses on a network without IPv6.
 */
const addressShare = 0.25;

/**
 * A connection that has been silent for so long is probed, and closed when ten probes, one each second, stay
 * without an answer. A firewall may forget a connection without telling anybody; a request on it would wait
 * for its whole time.
 */
const probeAfterMs = 15_000;

/**
 * Connects only to addresses that the guard allows. Node does not call `lookup` for a literal address, so
 * that is checked before. A name's addresses are checked after resolving, and connected to as they were
 * checked, so that a name server that changes its answer gains nothing. The address of the connected socket
 * is checked before anything is written to it.
 */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #tls: TlsOpener;
  readonly #lookup: LookupFunction;
  readonly #opening = new Set<Opening>();

  constructor(options: ConnectorOptions) {
    this.#options = options;
    this.#tls = new TlsOpener(options.clock);
    this.#lookup = guardedLookup(options.guard, options.resolver);
  }

  readonly connect: buildConnector.connector = (target, callback) => {
    const { guard, connections, clock, deadlines } = this.#options;
    const { hostname: host, protocol } = target;
    if (isIP(host) !== 0 && !guard.allows(host)) {
      process.nextTick(() => {
        connections.failed(() => {
          callback(new AddressRefusedError(host), null);
        });
      });
      return;
    }
    const isEncrypted = protocol === 'https:';
    const tcp = {
      host,
      port: Number(target.port) || (isEncrypted ? 443 : 80),
      lookup: this.#lookup,
      autoSelectFamilyAttemptTimeout: Math.ceil(this.#options.timeoutMs * addressShare),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
    };
    const origin = `${host}:${tcp.port}`;
    const encrypted = isEncrypted ? this.#tls.open(tcp, isIP(host) === 0) : undefined;
    const plain = { ...tcp, highWaterMark: 65_536 };
    const socket = encrypted ?? connectTcp(plain);
    const opening = new Opening(origin, socket, connections.caller, callback, this.#ended);
    this.#opening.add(opening);
    deadlines.add(opening, clock.steadyNow());
    // Before Node's own listener, which begins the handshake.
    socket.prependOnceListener('connect', () => {
      const address = opening.reached(host, guard);
      if (address === undefined) return;
      if (encrypted === undefined) opening.isOpen();
      else this.#tls.resume(encrypted, origin, address);
    });
    encrypted?.once('secureConnect', opening.isOpen);
    socket.on('error', opening.hasFailed);
  };

  close(): void {
    for (const { socket } of this.#opening) socket.destroy();
  }

  readonly #ended = (opening: Opening, error: Error | null): void => {
    const { clock, connections, deadlines, idle } = this.#options;
    const { socket, callback } = opening;
    this.#opening.delete(opening);
    if (!opening.isLate) deadlines.remove(opening);
    if (error !== null) {
      connections.failed(() => {
        callback(error, null);
      });
      return;
    }
    limitAnswers(socket);
    // An alert behind the handshake, such as that a client certificate is missing, would be followed by the end of the
    // connection, which undici would take for what happened.
    socket.once('error', () => socket.destroy());
    connections.opened(socket, () => {
      callback(null, socket);
    });
    const parser = parserOf(socket);
    if (parser === undefined) return;
    const oldMs = limitAge(socket, parser, clock);
    idle.watch(socket, parser, opening.origin, oldMs);
  };
}

/** A connection that is being made. */
class Opening implements Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  readonly socket: Socket;
  readonly callback: Callback;
  /** Its deadline has passed. */
  isLate = false;
  readonly origin: string;
  readonly #caller: Caller | undefined;
  #onEnd: ((opening: Opening, error: Error | null) => void) | undefined;

  constructor(
    origin: string,
    socket: Socket,
    caller: Caller | undefined,
    callback: Callback,
    onEnd: (opening: Opening, error: Error | null) => void,
  ) {
    this.origin = origin;
    this.socket = socket;
    this.#caller = caller;
    this.callback = callback;
    this.#onEnd = onEnd;
  }

  /** @returns the address, unless it is refused, and the connection closed */
  reached(host: string, guard: AddressGuard): string | undefined {
    if (this.#caller !== undefined) this.#caller.isReached = true;
    const address = this.socket.remoteAddress;
    if (address !== undefined && guard.allows(address)) return address;
    // If the peer has already closed the connection, the socket has no address.
    this.socket.destroy(address === undefined ? connectionLost(host) : refusal(host, address));
    return undefined;
  }

  readonly isOpen = (): void => {
    this.#end(null);
  };

  readonly hasFailed = (error: Error): void => {
    this.#end(error);
  };

  onDeadline(): void {
    this.isLate = true;
    this.socket.destroy(new errors.ConnectTimeoutError(`no connection to ${this.origin} in time`));
  }

  #end(error: Error | null): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.(this, error);
  }
}

function connectionLost(host: string): Error {
  return Object.assign(new Error(`${host} closed the connection`), { code: 'ECONNRESET' });
}
