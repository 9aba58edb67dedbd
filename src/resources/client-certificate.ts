import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { exposeGauges, type MetricsRegistry } from '../ops/metrics.ts';
import type { Config } from './config/config.ts';
import type { Destination } from './resource.ts';
import type { ClientCertificate } from './schema/webhook-login.ts';

/** Something wrong with one of the two. */
export interface CertificateProblem {
  readonly field: keyof ClientCertificate;
  /** The end of a sentence that begins with the field; never with its value. */
  readonly reason: string;
}

/** Undefined: it can be shown to a server now. */
export function certificateProblem(
  { certificate, privateKey }: ClientCertificate,
  nowMs: number,
): CertificateProblem | undefined {
  const read = readCertificate(certificate);
  if (read === undefined)
    return {
      field: 'certificate',
      reason: 'must be a certificate in PEM, which begins with -----BEGIN CERTIFICATE-----',
    };
  const { validFromDate, validToDate } = read;
  if (validToDate.getTime() <= nowMs)
    return { field: 'certificate', reason: `expired at ${validToDate.toISOString()}` };
  if (validFromDate.getTime() > nowMs)
    return { field: 'certificate', reason: `is not valid before ${validFromDate.toISOString()}` };
  return keyProblem(read, privateKey) ?? useProblem(certificate, privateKey);
}

/** A line about the certificate for people, as its PEM says nothing to them. */
export function certificateInWords(certificate: string): string {
  const read = readCertificate(certificate);
  if (read === undefined) return '(unreadable)';
  const name = read.subject.replaceAll('\n', ', ');
  const hash = read.fingerprint256.replaceAll(':', '').slice(0, 16).toLowerCase();
  return `${name}, until ${read.validToDate.toISOString()}, SHA-256 ${hash}…`;
}

function readCertificate(pem: string): X509Certificate | undefined {
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) return undefined;
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function keyProblem(certificate: X509Certificate, pem: string): CertificateProblem | undefined {
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(pem))
    return { field: 'privateKey', reason: 'is protected by a passphrase; give it without one' };
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem))
      ? undefined
      : { field: 'privateKey', reason: 'is not the key of the certificate' };
  } catch {
    return {
      field: 'privateKey',
      reason: 'must be a private key in PEM, which begins with -----BEGIN PRIVATE KEY-----',
    };
  }
}

/** TLS refuses some that are well formed, such as one with a short key, or with a broken one behind it. */
function useProblem(certificate: string, privateKey: string): CertificateProblem | undefined {
  try {
    createSecureContext({ cert: certificate, key: privateKey });
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { field: 'certificate', reason: `cannot be used for TLS: ${why}` };
  }
}

/** Destinations that have a series: the others need attention later, and each series costs memory. */
const mostCertificatesShown = 100;

/** The client certificates that webhooks show. They are renewed by `apply`, which somebody has to run in time. */
export function exposeClientCertificates(
  registry: MetricsRegistry,
  config: Pick<Config, 'destinations'>,
): void {
  exposeGauges(
    registry,
    'postrider_client_certificate_expires_timestamp_seconds',
    `When the first client certificate of a destination's webhooks expires, in seconds since 1970. The ${mostCertificatesShown} destinations that are first have a series.`,
    'destination',
    function* () {
      const expiries = Array.from(
        config.destinations(),
        (each) => [each.id, firstMs(each)] as const,
      )
        .filter(([, atMs]) => atMs !== Infinity)
        .sort(([, a], [, b]) => a - b);
      for (const [id, atMs] of expiries.slice(0, mostCertificatesShown)) yield [id, atMs / 1_000];
    },
  );
}

function firstMs({ enabled, webhooks }: Destination): number {
  if (!enabled) return Infinity;
  return Math.min(
    Infinity,
    ...webhooks.flatMap(({ clientCertificate }) => clientCertificate ?? []).map(knownExpiryMs),
  );
}

/** Reading a certificate costs as much as a hundred lookups, and metrics are read every few seconds. */
const known = new WeakMap<ClientCertificate, number>();

function knownExpiryMs(shown: ClientCertificate): number {
  const before = known.get(shown);
  if (before !== undefined) return before;
  const atMs = readCertificate(shown.certificate)?.validToDate.getTime() ?? Infinity;
  known.set(shown, atMs);
  return atMs;
}
