import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { isSame } from './signed.ts';

const ivBytes = 16;
const algorithm = 'aes-256-ctr';

/**
 * Numbers that a customer gets and sends back, and must not read: of a topic that all destinations share, the number of
 * a record says how much the others have sent.
 */
export class Veil {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** The same text always becomes the same. */
  veil(text: string): string {
    const iv = this.#ivOf(text);
    const cipher = createCipheriv(algorithm, this.#key, iv);
    return Buffer.concat([iv, cipher.update(text), cipher.final()]).toString('base64url');
  }

  /** Undefined for what this veil has not made. */
  unveil(veiled: string): string | undefined {
    const bytes = Buffer.from(veiled, 'base64url');
    if (bytes.length < ivBytes) return undefined;
    const iv = bytes.subarray(0, ivBytes);
    const decipher = createDecipheriv(algorithm, this.#key, iv);
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes)), decipher.final()]);
    const isOurs = isSame(this.#ivOf(text.toString()).toString('hex'), iv.toString('hex'));
    return isOurs ? text.toString() : undefined;
  }

  /** Made of the text: it authenticates it too. */
  #ivOf(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, ivBytes);
  }
}
