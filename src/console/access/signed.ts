import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { ZodType } from 'zod';
import { sha256 } from '../../http-api/tokens.ts';

/** Each has a key of its own, so what is signed for one is worth nothing for another. */
export type Purpose = 'session' | 'log-in' | 'csrf' | 'token' | 'place' | 'credential';

/** The key of one purpose. Who has it learns neither the console's key nor that of another purpose. */
export function keyFor(consoleKey: Buffer, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', consoleKey, '', `postrider console ${purpose}`, 32));
}

/** Everything that is signed ends. */
export interface Expiring {
  /** Milliseconds since the epoch. */
  readonly untilMs: number;
}

/**
 * `<content>.<HMAC-SHA-256>`, both in base64url: it can be read by whoever has it, and changed by nobody.
 * @param key of one purpose
 */
export function sign(key: Buffer, content: Expiring & Readonly<Record<string, unknown>>): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${text}.${macOf(key, text)}`;
}

/** Undefined where it has expired, is another purpose's or another key's, or was changed by anybody. */
export function readSigned<T extends Expiring>(
  key: Buffer,
  schema: ZodType<T>,
  signed: string,
  nowMs: number,
): T | undefined {
  const [text = '', mac = '', ...rest] = signed.split('.');
  if (rest.length > 0 || !isSame(mac, macOf(key, text))) return undefined;
  // Another release with the same key may have signed other fields.
  const { data } = schema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  return data !== undefined && nowMs < data.untilMs ? data : undefined;
}

/** For what only the holder of the key can know of `text`. */
export function macOf(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Takes the same time wherever they differ. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b));
}
