import { connect, createSecureContext } from 'node:tls';
import type { ConnectionOptions, SecureContext } from 'node:tls';
import { errors } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import { withoutRoot } from './guarded-lookup.ts';
import { checkName, showBareCertificate, validityOf } from './server-identity.ts';
import type { IdentifiedSocket } from './server-identity.ts';
import { TlsSessions } from './tls-sessions.ts';
import type { Verification } from './tls-sessions.ts';

/** Where a connection leads, and how its TCP connection is made. */
export interface TlsTarget extends ConnectionOptions {
  readonly host: string;
  readonly port: number;
}

/** A method that Node's types lack. */
export interface ResumingSocket extends IdentifiedSocket {
  setSession(session: Buffer): void;
}

/**
 * Opens TLS connections of one trust: the authorities that Node trusts when the first one is opened. All
 * share one context, because making one costs a fifth of a handshake.
 */
export class TlsOpener {
  readonly #clock: SteadyClock;
  readonly #sessions: TlsSessions;
  #context: SecureContext | undefined = undefined;

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#sessions = new TlsSessions(clock);
  }

  /** @param isName whether the host is a name, which TLS then asks for */
  open(target: TlsTarget, isName: boolean): ResumingSocket {
    this.#context ??= createSecureContext();
    const options = {
      ...target,
      secureContext: this.#context,
      // RFC 6066: the server name in TLS has no trailing dot, and is no address.
      ...(isName ? { servername: withoutRoot(target.host) } : {}),
      ALPNProtocols: ['http/1.1'],
      // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED=0 would turn verification off where it is left
      // open.
      rejectUnauthorized: true,
      checkServerIdentity: checkName,
      highWaterMark: 16_384,
    };
    const socket = connect(options) as ResumingSocket;
    showBareCertificate(socket);
    return socket;
  }

  /**
   * To be called when the TCP connection is there and the handshake has not begun: only then is the address
   * known, and no other handle will take this one's place.
   */
  resume(socket: ResumingSocket, origin: string, address: string): void {
    const sessions = this.#sessions;
    if (!sessions.areWorthwhile(origin)) return;
    const offered = sessions.find(origin, address);
    if (offered !== undefined) {
      socket.setSession(offered.session);
      socket.once('secureConnect', () => {
        sessions.answered(origin, socket.isSessionReused());
      });
    }
    let verification: Verification | undefined;
    socket.on('session', (session: Buffer) => {
      if (!socket.authorized || socket.destroyed) return;
      verification ??= socket.isSessionReused()
        ? offered?.verification
        : this.#verificationOf(socket, address);
      if (verification !== undefined) sessions.keep(origin, { verification, session });
    });
    socket.once('error', (error: Error) => {
      if (!isOrdinaryEnd(error)) sessions.forget(origin);
    });
  }

  #verificationOf({ shown }: IdentifiedSocket, address: string): Verification | undefined {
    return shown && { address, atMs: this.#clock.steadyNow(), validity: validityOf(shown) };
  }
}

/** Whether one of both sides closed the connection as usual: the endpoint after an answer, or we an idle one. */
function isOrdinaryEnd(error: Error): boolean {
  return error instanceof errors.InformationalError || error instanceof errors.SocketError;
}
