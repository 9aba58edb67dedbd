import type { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import type { DetailedPeerCertificate, PeerCertificate, TLSSocket } from 'node:tls';

/** When all certificates that the server showed are valid, in milliseconds since the epoch. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A TLS connection whose certificate is looked at as OpenSSL keeps it. */
export interface IdentifiedSocket extends TLSSocket {
  /** What the server has shown in a full handshake. */
  shown?: X509Certificate;
}

/**
 * Makes Node check the server's name on the certificate as OpenSSL keeps it. Node would otherwise turn each
 * certificate of the chain into an object with all its fields, which costs a tenth of a handshake.
 */
export function showBareCertificate(socket: IdentifiedSocket): void {
  socket.getPeerCertificate = bareCertificate;
}

/** Node gives out a certificate only once: the next call would return that of its issuer. */
function bareCertificate(this: IdentifiedSocket): DetailedPeerCertificate {
  const certificate = this.getPeerX509Certificate();
  if (certificate !== undefined) this.shown = certificate;
  return certificate as unknown as DetailedPeerCertificate;
}

/** As Node's own check, for sockets that show their bare certificate. */
export function checkName(name: string, shown: PeerCertificate): Error | undefined {
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

/** When the certificate and all above it that came with it are valid. */
export function validityOf(leaf: X509Certificate): Validity {
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
