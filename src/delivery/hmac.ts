import { hash } from 'node:crypto';
import { GrowingBuffer } from '../kafka/growing-buffer.ts';

/** The block size of SHA-1 and of SHA-256. */
const blockBytes = 64;

export type HashName = 'sha1' | 'sha256';

/** A secret as HMAC uses it: mixed with the inner pad, followed by the secret mixed with the outer pad. */
export interface HmacKey {
  readonly hashName: HashName;
  readonly pads: Buffer;
}

const message = new GrowingBuffer(4_096);
const outer: Readonly<Record<HashName, Buffer>> = {
  sha1: Buffer.alloc(blockBytes + 20),
  sha256: Buffer.alloc(blockBytes + 32),
};

export function hmacKey(hashName: HashName, secret: Uint8Array): HmacKey {
  const short = secret.length > blockBytes ? hash(hashName, secret, 'buffer') : secret;
  const pads = Buffer.alloc(2 * blockBytes);
  pads.set(short);
  pads.set(short, blockBytes);
  const mixed = pads.map((byte, at) => byte ^ (at < blockBytes ? 0x36 : 0x5c));
  return { hashName, pads: Buffer.from(mixed) };
}

/**
 * HMAC (RFC 2104) of an ASCII text followed by bytes. Computed as two hashes, because `createHmac` makes a stream
 * and an OpenSSL object, which garbage collection has to find.
 */
export function hmac(
  { hashName, pads }: HmacKey,
  text: string,
  bytes: Buffer,
  encoding: 'hex' | 'base64',
): string {
  message.bytes = 0;
  message.makeRoom(blockBytes + text.length + bytes.length);
  const { buffer } = message;
  let length = pads.copy(buffer, 0, 0, blockBytes);
  length += buffer.write(text, length, 'latin1');
  length += bytes.copy(buffer, length);
  const last = outer[hashName];
  pads.copy(last, 0, blockBytes);
  last.write(hash(hashName, buffer.subarray(0, length), 'binary'), blockBytes, 'latin1');
  return hash(hashName, last, encoding);
}
