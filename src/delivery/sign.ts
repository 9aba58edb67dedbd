import { hash } from 'node:crypto';
import { GrowingBuffer } from '../kafka/growing-buffer.ts';

/** Block size of SHA-1. */
const blockBytes = 64;
const hashBytes = 20;

/** A secret as HMAC uses it: mixed with the inner pad, followed by the secret mixed with the outer pad. */
export type SigningKey = Buffer;

const message = new GrowingBuffer(4_096);
const outer = Buffer.alloc(blockBytes + hashBytes);

export function signingKey(sharedSecret: string): SigningKey {
  const secret = Buffer.from(sharedSecret, 'utf8');
  const short = secret.length > blockBytes ? hash('sha1', secret, 'buffer') : secret;
  const key = Buffer.alloc(2 * blockBytes);
  short.copy(key);
  short.copy(key, blockBytes);
  return key.map((byte, index) => byte ^ (index < blockBytes ? 0x36 : 0x5c)) as Buffer;
}

/**
 * `X-Signature`: lower-case hex HMAC-SHA1 (RFC 2104) of the body's exact bytes. Computed as two hashes,
 * because `createHmac` makes a stream and an OpenSSL object, which garbage collection has to find.
 */
export function sign(key: SigningKey, body: Buffer): string {
  message.bytes = 0;
  message.makeRoom(blockBytes + body.length);
  const { buffer } = message;
  const bytes = key.copy(buffer, 0, 0, blockBytes) + body.copy(buffer, blockBytes);
  key.copy(outer, 0, blockBytes);
  outer.write(hash('sha1', buffer.subarray(0, bytes), 'binary'), blockBytes, 'latin1');
  return hash('sha1', outer, 'hex');
}
