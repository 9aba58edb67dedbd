import { isIPv4 } from 'node:net';
import { shortened } from '../../event/last-answer.ts';
import type { Failed, RetryCause } from '../outcome.ts';

/** The code of our own errors about names. */
export const dnsErrorCode = 'EDNS';
/** The codes of errors of `DELIVERY_PROXY`: of its own, and of endpoints that it does not reach. */
export const proxyErrorCode = 'EPROXY';
export const tunnelErrorCode = 'ETUNNEL';

/** Codes of Node, OpenSSL and undici, by cause. Failures with other codes are retryable. */
const causesByCode: Readonly<Record<string, RetryCause>> = {
  CERT_HAS_EXPIRED: 'tls',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls',
  CERT_NOT_YET_VALID: 'tls',
  CERT_REVOKED: 'tls',
  CERT_SIGNATURE_FAILURE: 'tls',
  CERT_CHAIN_TOO_LONG: 'tls',
  PATH_LENGTH_EXCEEDED: 'tls',
  INVALID_PURPOSE: 'tls',
  EPROTO: 'tls',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  [dnsErrorCode]: 'dns',
  [proxyErrorCode]: 'proxy',
  [tunnelErrorCode]: 'connection',
  ECONNREFUSED: 'connection',
  ECONNRESET: 'connection',
  EPIPE: 'connection',
  EHOSTUNREACH: 'connection',
  ENETUNREACH: 'connection',
  EADDRNOTAVAIL: 'connection',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_SOCKET: 'connection',
};

/** A lack of file descriptors, memory, or kernel table entries. `OUT_OF_MEM` is OpenSSL's code. */
const wantCodes: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EAGAIN',
  'OUT_OF_MEM',
]);

/**
 * The code says that a try failed because this machine lacked a resource.
 * @param address the address to be connected to, if any
 */
export function isOurWant(code: string, address = ''): boolean {
  if (wantCodes.has(code) || code.endsWith('_MALLOC_FAILURE')) return true;
  // No local port is free. For an IPv6 address, the code also means that this machine has no IPv6 address,
  // which is a missing route like any other.
  return code === 'EADDRNOTAVAIL' && isIPv4(address);
}

/** OpenSSL's codes for a certificate that no trusted authority has signed. */
const untrustedCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
]);

/** OpenSSL's words for these are no help, or a line of its source. */
const explanations: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the endpoint has signed its certificate itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'the authority of its certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT: 'an intermediate certificate is missing, or its authority is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'an intermediate certificate is missing, or its authority is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the endpoint sends its own certificate alone: the intermediate one is missing, or its authority is unknown',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'the endpoint demands a client certificate; clientCertificate of the webhook gives one',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    'the endpoint refused the handshake; it may demand a client certificate, or another one than it gets',
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE':
    'the endpoint refused the client certificate, or demands one',
};

export const addressRefusedCode = 'ERR_ADDRESS_REFUSED';

/**
 * The progress of a try: no connection yet; a connection, of which TLS may still be missing; or the head of an
 * answer was read, so the other side speaks HTTP.
 */
export type Progress = 'unreached' | 'reached' | 'answering';

/** The outcome of a try that ended without a complete answer. */
export function outcomeOfError(error: unknown, progress: Progress): Failed {
  const { code, message, address } = describe(error);
  if (code === addressRefusedCode)
    return { kind: 'permanent', reason: 'address-refused', detail: message };
  const detail = [code, explanations[code] ?? message].filter((part) => part !== '').join(': ');
  if (untrustedCodes.has(code)) return { kind: 'permanent', reason: 'tls-untrusted', detail };
  if (progress !== 'answering' && isNotHttp(error))
    return { kind: 'permanent', reason: 'not-http', detail: message };
  const cause = isOurWant(code, address) ? 'local' : causeOfCode(code);
  return progress === 'unreached'
    ? { kind: 'retryable', cause, detail, unreached: true }
    : { kind: 'retryable', cause, detail };
}

function causeOfCode(code: string): RetryCause {
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  return causesByCode[code] ?? 'other';
}

/** The other side closed the connection, as it does with one that was idle for too long. */
export function isConnectionLoss(error: unknown): boolean {
  return connectionLossCodes.has(describe(error).code);
}

const connectionLossCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** The bytes that came are not HTTP, or have too many headers. */
export function isNotHttp(error: unknown): boolean {
  const { name, code } = describe(error);
  return name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW';
}

/** The code of an error, or of those for each address; empty if there is none. */
export function codeOf(error: unknown): string {
  return describe(error).code;
}

interface Description {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly address: string;
}

function describe(error: unknown): Description {
  const all = perAddress(error).map(describeOne);
  // An address that could not be tried might have been the one that answers.
  return all.find(({ code, address }) => isOurWant(code, address)) ?? all[0] ?? describeOne(error);
}

/**
 * Happy Eyeballs reports one error per address; they rarely differ in kind. At a timeout, undici wraps them.
 */
function perAddress(error: unknown): readonly unknown[] {
  if (error instanceof AggregateError) return error.errors;
  if (error instanceof Error && error.cause instanceof AggregateError)
    return [error, ...perAddress(error.cause)];
  return [error];
}

/**
 * The most that is kept of an error's text, which is stored with each attempt. Node names every host of a certificate that is for
 * others, and a certificate may have a thousand.
 */
const mostMessageCharacters = 300;

function describeOne(error: unknown): Description {
  const text = error instanceof Error ? error.message : String(error);
  const message = shortened(text, mostMessageCharacters);
  if (!(error instanceof Error)) return { name: '', code: '', message, address: '' };
  const { name } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const address = 'address' in error && typeof error.address === 'string' ? error.address : '';
  return { name, code, message, address };
}
