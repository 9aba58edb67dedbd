import type { X509Certificate } from 'node:crypto';
import { checkServerIdentity, connect, createSecureContext } from 'node:tls';
import type {
  ConnectionOptions,
  DetailedPeerCertificate,
  PeerCertificate,
  SecureContext,
  TLSSocket,
} from 'node:tls';
import { errors } from 'undici';
import type { SteadyClock } from '../../ops/clock.ts';
import type { TlsIdentity } from '../prepared-destination.ts';
import { withoutRoot } from './guarded-lookup.ts';
import { TlsSessions } from './tls-sessions.ts';
import type { Validity, Verification } from './tls-sessions.ts';

/** The server of a connection, and options for its TCP connection. */
export interface TlsTarget extends ConnectionOptions {
  readonly host: string;
  readonly port: number;
}

/** A TLS connection whose certificate is looked at as OpenSSL keeps it. */
export interface ResumingSocket extends TLSSocket {
  /** The certificate that the server has shown in a full handshake. */
  shown?: X509Certificate;
  /** A method that Node's types lack. */
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
  /** The contexts that show a client certificate. */
  readonly #contexts = new WeakMap<TlsIdentity, SecureContext>();

  constructor(clock: SteadyClock) {
    this.#clock = clock;
    this.#sessions = new TlsSessions(clock);
  }

  /**
   * @param isName whether the host is a name, which TLS then asks for
   * @param identity the certificate to show, if the server demands one
   * @throws an error of OpenSSL for an identity that it does not take
   */
  open(target: TlsTarget, isName: boolean, identity: TlsIdentity | undefined): ResumingSocket {
    const options = {
      ...target,
      secureContext: this.#contextFor(identity),
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
   * Offers a session. Must be called when the TCP connection is there and the handshake has not begun: only then is the address
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

  #contextFor(identity: TlsIdentity | undefined): SecureContext {
    if (identity === undefined) return (this.#context ??= createSecureContext());
    const known = this.#contexts.get(identity);
    if (known !== undefined) return known;
    const { certificate, privateKey } = identity;
    const made = createSecureContext({ cert: certificate, key: privateKey });
    this.#contexts.set(identity, made);
    return made;
  }

  #verificationOf({ shown }: ResumingSocket, address: string): Verification | undefined {
    return shown && { address, atMs: this.#clock.steadyNow(), validity: validityOf(shown) };
  }
}

/** An error that only says that one side closed the connection: the endpoint after an answer, or we an idle one. */
function isOrdinaryEnd(error: Error): boolean {
  return error instanceof errors.InformationalError || error instanceof errors.SocketError;
}

/**
 * Makes Node check the server's name on the certificate as OpenSSL keeps it. Node would otherwise turn each
 * certificate of the chain into an object with all its fields, which costs a tenth of a handshake.
 */
function showBareCertificate(socket: ResumingSocket): void {
  socket.getPeerCertificate = bareCertificate;
}

/** Node gives out a certificate only once: the next call would return that of its issuer. */
function bareCertificate(this: ResumingSocket): DetailedPeerCertificate {
  const certificate = this.getPeerX509Certificate();
  if (certificate !== undefined) this.shown = certificate;
  return certificate as unknown as DetailedPeerCertificate;
}

/** Node's own check of a server's name, for sockets that show their bare certificate. */
function checkName(name: string, shown: PeerCertificate): Error | undefined {
  const certificate = shown as unknown as X509Certificate | undefined;
  if (certificate === undefined) return checkServerIdentity(name, {} as PeerCertificate);
  const { subjectAltName } = certificate;
  if (subjectAltName !== undefined) {
    const named = { subjectaltname: subjectAltName } as PeerCertificate;
    if (checkServerIdentity(name, named) === undefined) return undefined;
  }
  // Only here may the subject's common name count, and an error may need the other fields.
  return checkServerIdentity(name, certificate.toLegacyObject());
}

/** More than any chain that is verified in practice; those have three. */
const maxChain = 10;
const never: Validity = { fromMs: Infinity, untilMs: -Infinity };

/** The time in which the certificate and all above it that came with it are valid. */
function validityOf(leaf: X509Certificate): Validity {
  let [fromMs, untilMs] = [-Infinity, Infinity];
  let certificate: X509Certificate | undefined = leaf;
  for (let depth = 0; certificate !== undefined; depth += 1) {
    if (depth === maxChain) return never;
    fromMs = Math.max(fromMs, certificate.validFromDate.getTime());
    untilMs = Math.min(untilMs, certificate.validToDate.getTime());
    certificate = certificate.issuerCertificate;
  }
  return { fromMs, untilMs };
}
