import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net';
import { errors } from 'undici';
import type { buildConnector } from 'undici';
import { asError } from '../../errors.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import { AddressRefusedError } from './address-guard.ts';
import type { Allowing } from './address-guard.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { guardedLookup, isLocalhost, plainLookup, refusal, withoutRoot } from './guarded-lookup.ts';
import { IdleConnections, KeptConnection } from './idle-connections.ts';
import type { NameResolver } from './name-resolver.ts';
import { codeOf, isOurWant } from './errors.ts';
import type { TlsIdentity } from '../prepared-destination.ts';
import type { Proxy } from './proxy.ts';
import { TlsOpener, type ResumingSocket, type TlsTarget } from './tls.ts';
import { adjustParser } from './undici-parser.ts';

export interface ConnectorOptions {
  /** The time for the whole attempt: name, connection, request and answer. */
  readonly timeoutMs: number;
  readonly guard: Allowing;
  readonly resolver: NameResolver;
  readonly clock: SteadyClock;
  /** The only way out, except to the hosts that it skips; undefined: connections are made directly. */
  readonly proxy?: Proxy | undefined;
  /** So many open connections that none is kept after its answer; 10,000 by default. */
  readonly maxKept?: number;
}

/** The request that a connection is opened for. */
export interface Caller {
  /** The TCP connection was accepted; TLS may still be missing. */
  isReached: boolean;
  /** There is no connection to the proxy yet. */
  awaitsProxy: boolean;
  /** The time for the whole of it. */
  readonly timeoutMs: number;
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
 * Busy connections are bounded by the requests in flight. Idle ones would be bounded only by time: 5,000
 * endpoints with bursts of 64 requests could leave 320,000. Each costs about 11 KB, more with TLS.
 */
const maxKeptConnections = 10_000;

/**
 * Opens the connections of a sender, only to addresses that the guard allows. Node does not call `lookup` for a literal
 * address, so that is checked before. A name's addresses are checked after resolving, and connected to as they were
 * checked, so that a name server that changes its answer gains nothing. The address of the connected socket
 * is checked before anything is written to it.
 */
export class Connector {
  /**
   * The request that is being passed to undici. If undici has no connection for it, it opens one during that
   * call.
   */
  caller: Caller | undefined = undefined;
  readonly #options: ConnectorOptions;
  readonly #maxKept: number;
  readonly #deadlines: Deadlines;
  readonly #tls: TlsOpener;
  readonly #lookup: LookupFunction;
  readonly #proxyLookup: LookupFunction;
  readonly #opening = new Set<Opening>();
  readonly #idle: IdleConnections;
  #open = 0;
  #isStarting = false;

  /** @param deadlines after `timeoutMs` of the options */
  constructor(options: ConnectorOptions, deadlines: Deadlines) {
    this.#options = options;
    this.#maxKept = options.maxKept ?? maxKeptConnections;
    this.#deadlines = deadlines;
    this.#tls = new TlsOpener(options.clock);
    this.#lookup = guardedLookup(options.guard, options.resolver);
    this.#proxyLookup = plainLookup(options.resolver);
    this.#idle = new IdleConnections(options.clock);
  }

  /** So many connections are open that each is closed after its answer. */
  get areMany(): boolean {
    return this.#open >= this.#maxKept;
  }

  /**
   * True while undici handles a new connection, when it writes the first request to it, or the failure to
   * open one, when it fails that request. Whatever happens to a request at another time happens on a
   * connection that was used before.
   */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  readonly connect: buildConnector.connector = (target, callback) => {
    this.#connect(target, callback, undefined);
  };

  /** @returns what opens connections that show the certificate of `identity`, if there is one */
  readonly connectAs = (identity: TlsIdentity | undefined): buildConnector.connector =>
    identity === undefined
      ? this.connect
      : (target, callback) => {
          this.#connect(target, callback, identity);
        };

  #connect(
    target: buildConnector.Options,
    callback: Callback,
    identity: TlsIdentity | undefined,
  ): void {
    const { guard, clock, proxy } = this.#options;
    const { timeoutMs } = this.caller ?? this.#options;
    const { hostname: host, protocol } = target;
    if (isIP(host) !== 0 && !guard.allows(host)) {
      this.#refuse(callback, new AddressRefusedError(host));
      return;
    }
    const isEncrypted = protocol === 'https:';
    const tcp = {
      host,
      port: Number(target.port) || (isEncrypted ? 443 : 80),
      lookup: this.#lookup,
      autoSelectFamilyAttemptTimeout: Math.ceil(timeoutMs * addressShare),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
    };
    const place = `${host}:${tcp.port}`;
    const origin = identity === undefined ? place : `${place} as ${identity.id}`;
    const name = withoutRoot(host);
    // To the proxy, `localhost` would be the proxy itself.
    if (proxy !== undefined && !isLocalhost(name) && proxy.leadsTo(name)) {
      const tls = isEncrypted ? { identity, isName: isIP(host) === 0 } : undefined;
      this.#tunnel(proxy, tcp, origin, tls, callback);
      return;
    }
    let encrypted: ResumingSocket | undefined;
    try {
      encrypted = isEncrypted ? this.#tls.open(tcp, isIP(host) === 0, identity) : undefined;
    } catch (error) {
      this.#refuse(callback, asError(error));
      return;
    }
    const plain = { ...tcp, highWaterMark: 65_536 };
    const socket = encrypted ?? connectTcp(plain);
    const opening = new Opening(origin, socket, this.caller, callback, this.#ended);
    this.#opening.add(opening);
    this.#deadlines.add(opening, clock.steadyNow());
    // Before Node's own listener, which begins the handshake.
    socket.prependOnceListener('connect', () => {
      const address = opening.reached(host, guard);
      if (address === undefined) return;
      if (encrypted === undefined) opening.isOpen();
      else this.#tls.resume(encrypted, origin, address);
    });
    encrypted?.once('secureConnect', opening.isOpen);
    socket.on('error', opening.hasFailed);
  }

  /** The name is resolved by the proxy, and the address that it connects to is not known here. */
  #tunnel(
    proxy: Proxy,
    tcp: TlsTarget & TcpNetConnectOpts,
    origin: string,
    tls: TunnelledTls | undefined,
    callback: Callback,
  ): void {
    const { clock } = this.#options;
    const { host, port } = proxy;
    const plain = { ...tcp, host, port, lookup: this.#proxyLookup, highWaterMark: 65_536 };
    const socket = connectTcp(plain);
    const opening = new Opening(origin, socket, this.caller, callback, this.#ended);
    this.#opening.add(opening);
    this.#deadlines.add(opening, clock.steadyNow());
    opening.awaitsProxy = true;
    socket.once('connect', () => {
      opening.awaitsProxy = false;
      const target = isIP(tcp.host) === 6 ? `[${tcp.host}]:${tcp.port}` : `${tcp.host}:${tcp.port}`;
      proxy.askForTunnel(socket, target, (error) => {
        if (error === undefined) {
          this.#tunnelled(opening, tcp, tls);
          return;
        }
        opening.hasFailed(error);
        socket.destroy();
      });
    });
    socket.on('error', (error) => {
      // What this machine lacks is not the proxy's fault, and the endpoint behind it may hang.
      const isOther = opening.isTunnelled || isOurWant(codeOf(error), host);
      const isEndpointLate = opening.isLate && !opening.awaitsProxy;
      const failure = proxy.failed(`cannot be used: ${error.message}`);
      opening.hasFailed(isOther || isEndpointLate ? error : failure);
    });
  }

  #tunnelled(opening: Opening, { host, port }: TlsTarget, tls: TunnelledTls | undefined): void {
    opening.isTunnelled = true;
    opening.endpointReached();
    if (tls === undefined) {
      opening.isOpen();
      return;
    }
    try {
      const { socket } = opening;
      const encrypted = this.#tls.open({ socket, host, port }, tls.isName, tls.identity);
      opening.socket = encrypted;
      encrypted.once('secureConnect', opening.isOpen);
      encrypted.on('error', opening.hasFailed);
    } catch (error) {
      opening.socket.destroy(asError(error));
    }
  }

  #refuse(callback: Callback, error: Error): void {
    process.nextTick(() => {
      this.#tellUndici(callback, error, null);
    });
  }

  close(): void {
    this.#idle.close();
    for (const { socket } of this.#opening) socket.destroy();
  }

  readonly #ended = (opening: Opening, error: Error | null): void => {
    const { socket, callback } = opening;
    this.#opening.delete(opening);
    if (!opening.isLate) this.#deadlines.remove(opening);
    if (error === null) this.#opened(socket, opening.origin, callback);
    else this.#tellUndici(callback, error, null);
  };

  #opened(socket: Socket, origin: string, callback: Callback): void {
    limitAnswers(socket);
    // An alert behind the handshake, such as that a client certificate is missing, would be followed by the end of the
    // connection, which undici would take for what happened.
    socket.once('error', () => socket.destroy());
    this.#open += 1;
    socket.once('close', this.#closed);
    this.#tellUndici(callback, null, socket);
    const kept = new KeptConnection(this.#idle, socket, origin);
    if (!adjustParser(socket, kept)) return;
    socket.once('close', () => {
      kept.becameBusy();
    });
  }

  #tellUndici(callback: Callback, ...result: Parameters<Callback>): void {
    this.#isStarting = true;
    try {
      callback(...result);
    } finally {
      this.#isStarting = false;
    }
  }

  readonly #closed = (): void => {
    this.#open -= 1;
  };
}

/** The part of an endpoint that TLS inside a tunnel needs. */
interface TunnelledTls {
  readonly identity: TlsIdentity | undefined;
  readonly isName: boolean;
}

/** A connection that is being made. */
class Opening implements Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  socket: Socket;
  /** The proxy has connected us with the endpoint. */
  isTunnelled = false;
  readonly callback: Callback;
  /** Its deadline has passed. */
  isLate = false;
  readonly origin: string;
  readonly #caller: Caller | undefined;
  #awaitsProxy = false;
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

  get awaitsProxy(): boolean {
    return this.#awaitsProxy;
  }

  set awaitsProxy(awaitsProxy: boolean) {
    this.#awaitsProxy = awaitsProxy;
    if (this.#caller !== undefined) this.#caller.awaitsProxy = awaitsProxy;
  }

  endpointReached(): void {
    if (this.#caller !== undefined) this.#caller.isReached = true;
  }

  /** @returns the address, unless it is refused, and the connection closed */
  reached(host: string, guard: Allowing): string | undefined {
    this.endpointReached();
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
    this.socket.destroy(
      new errors.ConnectTimeoutError(`no connection to ${this.origin.replace(/ .*/, '')} in time`),
    );
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

/**
 * 64 KB of body in chunks of one byte, each of which takes six bytes, and a head. No reasonable answer takes
 * more.
 */
const maxRawBytes = 524_288;

/**
 * undici counts names and values of headers, and we count the body. Nothing counts status lines, empty lines
 * before them and chunk extensions, which would be read until the deadline. So this counts the bytes that
 * arrive without a request in between. At most twice the limit passes.
 */
function limitAnswers(socket: Socket): void {
  let sentBytes = 0;
  let fromBytes = 0;
  socket.on('readable', () => {
    const { bytesRead } = socket;
    if (bytesRead - fromBytes <= maxRawBytes) return;
    // Read seldom, because Node computes the value each time.
    const { bytesWritten } = socket;
    if (bytesWritten === sentBytes) {
      const message = `an answer of more than ${maxRawBytes} bytes, most of them neither header nor body`;
      socket.destroy(new errors.HeadersOverflowError(message));
    }
    [fromBytes, sentBytes] = [bytesRead, bytesWritten];
  });
}
