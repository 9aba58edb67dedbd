import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Clock } from '../../ops/clock.ts';
import { keyFor } from './signed.ts';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Characters of a credential in a cookie. A browser sends the cookies of eight links beside it, and proxies such as nginx
 * take 8 KB of cookies: 8 × 400 and these leave room for the cookies of others.
 */
const mostInCookie = 2_700;
/** Characters of a credential that is too long for a cookie. */
const mostKept = 16 * 1024;
/** 1,000 × 16 KB are 16 MB. */
const mostInMemory = 1_000;

/** The session that a credential belongs to. */
interface Holder {
  readonly id: string;
  readonly untilMs: number;
}

/**
 * The credentials of those who are logged in, which the API is asked with. Each is encrypted in its session's cookie, so that
 * neither the console nor the browser has it without the other; one that is too long stays here in memory, until a restart.
 */
export class Credentials {
  readonly #key: Buffer;
  readonly #clock: Pick<Clock, 'now'>;
  /** By the id of the session, the oldest first. */
  readonly #kept = new Map<string, { readonly credential: string; readonly untilMs: number }>();

  constructor(consoleKey: Buffer, clock: Pick<Clock, 'now'>) {
    this.#key = keyFor(consoleKey, 'credential');
    this.#clock = clock;
  }

  /** The text for the session's cookie; undefined: the credential is kept here, or is too long even for that. */
  seal(credential: string, { id, untilMs }: Holder): string | undefined {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key, iv).setAAD(Buffer.from(id));
    const sealed = Buffer.concat([iv, cipher.update(credential), cipher.final()]);
    const text = Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
    if (text.length <= mostInCookie) return text;
    if (credential.length <= mostKept) this.#keep(id, { credential, untilMs });
    return undefined;
  }

  /** Undefined where there is none, or it was sealed for another session or with another key. */
  open(sealed: string | undefined, { id }: Pick<Holder, 'id'>): string | undefined {
    if (sealed === undefined) return this.#kept.get(id)?.credential;
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < ivBytes + tagBytes) return undefined;
    try {
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, ivBytes));
      decipher.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(-tagBytes));
      const text = decipher.update(bytes.subarray(ivBytes, -tagBytes));
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }

  forget({ id }: Pick<Holder, 'id'>): void {
    this.#kept.delete(id);
  }

  #keep(id: string, kept: { readonly credential: string; readonly untilMs: number }): void {
    const nowMs = this.#clock.now();
    for (const [each, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size < mostInMemory) continue;
      this.#kept.delete(each);
    }
    this.#kept.set(id, kept);
  }
}
