import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A secret as a key: made once per destination, it spares every signature the conversion. */
export function signingKey(sharedSecret: string): KeyObject {
  return createSecretKey(sharedSecret, 'utf8');
}

/** `X-Signature`: lower-case hex HMAC-SHA1 of the body's exact bytes. */
export function sign(key: KeyObject, body: Buffer): string {
  return createHmac('sha1', key).update(body).digest('hex');
}
