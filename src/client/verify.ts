import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether `X-Signature` is the lower-case hex HMAC-SHA1 of the body's exact bytes. Takes the same time
 * wherever a wrong signature differs.
 * @param secret the destination's shared secret
 * @param rawBody the bytes as they arrived; after parsing and stringifying they may differ
 * @param header the header's value; a missing or repeated one is not valid
 * @throws TypeError for an empty secret, with which anybody can sign, and for a parsed body
 */
export function verifySignature(
  secret: string,
  rawBody: Uint8Array | string,
  header: string | readonly string[] | null | undefined,
): boolean {
  if (typeof secret !== 'string' || secret === '') {
    throw new TypeError('The secret must be a text that is not empty.');
  }
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError('The body must be the raw bytes, or their text, and not what was parsed.');
  }
  const expected = Buffer.from(createHmac('sha1', secret).update(rawBody).digest('hex'));
  const given = Buffer.from(typeof header === 'string' ? header : '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
