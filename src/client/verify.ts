import { createHmac, createPublicKey, timingSafeEqual, verify, type KeyObject } from 'node:crypto';

/** One shared secret, or several of which any is right, as while a secret is being changed. */
export type Secrets = string | readonly string[];

/**
 * Why a request is not to be believed: a header of its signature is missing or repeated; none of the secrets gives
 * the signature; or it was signed at a time that is too far from now, as a recorded request would be.
 */
export type SignatureProblem = 'missing' | 'wrong' | 'too-old' | 'too-new';

/** The headers of Node.js, Express or Fastify (names in lower case), or those of a Fetch request. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface StandardOptions {
  /** The most that the time of the signature may differ from now; default five minutes. */
  readonly toleranceMs?: number;
}

const defaultToleranceMs = 300_000;
/** An ed25519 public key as SubjectPublicKeyInfo (RFC 8410), up to its 32 bytes. */
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * Says whether `X-Signature` is the lower-case hex HMAC-SHA1 of the body's exact bytes. Takes the
 * same time wherever a wrong signature differs.
 * @param secrets the destination's shared secret
 * @param rawBody the bytes as they arrived; after parsing and stringifying they may differ
 * @param header the header's value; a missing or repeated one is not valid
 * @throws TypeError for an empty secret, with which anybody can sign, and for a parsed body
 */
export function verifySignature(
  secrets: Secrets,
  rawBody: Uint8Array | string,
  header: string | readonly string[] | null | undefined,
): boolean {
  const all = checked(secrets, rawBody);
  const given = Buffer.from(typeof header === 'string' ? header : '');
  return all.some((secret) => {
    const expected = createHmac('sha1', secret).update(rawBody).digest('hex');
    return isEqual(given, Buffer.from(expected));
  });
}

/**
 * Checks a request that is signed by Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`.
 * The signature covers all three, so that a recorded request is refused when its time is over.
 * @param secrets `whsec_…`, `whpk_…` for ed25519, or any other text, which stands for its UTF-8 bytes
 * @param rawBody as for `verifySignature`
 * @returns undefined for a request that is to be believed
 * @throws TypeError for an empty secret or one that is not base64 after its prefix, and for a parsed body
 */
export function signatureProblem(
  secrets: Secrets,
  rawBody: Uint8Array | string,
  headers: RequestHeaders,
  { toleranceMs = defaultToleranceMs }: StandardOptions = {},
): SignatureProblem | undefined {
  const keys = checked(secrets, rawBody).map(standardKey);
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || signatures === undefined) return 'missing';
  if (!/^\d{1,11}$/.test(timestamp)) return 'wrong';
  const signed = Buffer.concat([
    Buffer.from(`${id}.${timestamp}.`, 'latin1'),
    typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody,
  ]);
  const isRight = signatures
    .split(' ')
    .some((signature) => keys.some((key) => isSignedWith(key, signed, signature)));
  if (!isRight) return 'wrong';
  const ageMs = Date.now() - Number(timestamp) * 1_000;
  if (ageMs > toleranceMs) return 'too-old';
  return ageMs < -toleranceMs ? 'too-new' : undefined;
}

/**
 * The events of a body in their order: of a batch, which is an array, or one. Verify the signature first.
 * @param rawBody as for `verifySignature`
 * @throws SyntaxError for a body that is no JSON
 */
export function eventsOf(rawBody: Uint8Array | string): readonly unknown[] {
  const text = typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody);
  const body: unknown = JSON.parse(text);
  return Array.isArray(body) ? body : [body];
}

function checked(secrets: Secrets, rawBody: Uint8Array | string): readonly string[] {
  const all: readonly unknown[] = typeof secrets === 'string' ? [secrets] : secrets;
  if (!Array.isArray(all) || all.length === 0 || all.some(isNoSecret))
    throw new TypeError('The secret must be a text that is not empty, or a list of such.');
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array))
    throw new TypeError('The body must be the raw bytes, or their text, and not what was parsed.');
  return all as readonly string[];
}

function isNoSecret(secret: unknown): boolean {
  return typeof secret !== 'string' || secret === '';
}

function standardKey(secret: string): Buffer | KeyObject {
  if (secret.startsWith('whsec_')) return decoded(secret, 'whsec_');
  if (!secret.startsWith('whpk_')) return Buffer.from(secret);
  const key = Buffer.concat([spkiHead, decoded(secret, 'whpk_')]);
  return createPublicKey({ key, format: 'der', type: 'spki' });
}

function decoded(secret: string, prefix: string): Buffer {
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, ''))
    throw new TypeError(`The secret must be base64 after ${prefix}.`);
  return bytes;
}

function isSignedWith(key: Buffer | KeyObject, signed: Buffer, signature: string): boolean {
  const [version, text = ''] = signature.split(',');
  if (!Buffer.isBuffer(key))
    return version === 'v1a' && verify(null, signed, key, Buffer.from(text, 'base64'));
  if (version !== 'v1') return false;
  const expected = createHmac('sha256', key).update(signed).digest('base64');
  return isEqual(Buffer.from(text), Buffer.from(expected));
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Undefined where the header is missing, empty or repeated. */
function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = isFetch(headers) ? headers.get(name) : headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isFetch(headers: RequestHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}
