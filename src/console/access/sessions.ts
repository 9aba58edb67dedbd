import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../ops/clock.ts';
import { macOf, readSigned, sign } from './signed.ts';

/** What a session's cookie says. */
export interface Claims {
  readonly id: string;
  readonly untilMs: number;
  readonly user: string;
  readonly role: 'viewer' | 'operator' | 'customer';
  /** Of a customer. */
  readonly destination?: string | undefined;
  /** As their link has it. */
  readonly uid?: string | null | undefined;
  readonly bodies: boolean;
  /** Of somebody with a token: what it is known by, because the token may be taken away. */
  readonly token?: string | undefined;
}

const schema: z.ZodType<Claims> = z.object({
  id: z.string(),
  untilMs: z.number(),
  user: z.string(),
  role: z.enum(['viewer', 'operator', 'customer']),
  destination: z.string().optional(),
  uid: z.string().nullable().optional(),
  bodies: z.boolean(),
  token: z.string().optional(),
});

/** A working day: after it one logs in again, with the role that one has then. */
export const sessionMs: number = 8 * 3_600_000;
/** About 15 MB. A customer can begin and end sessions as often as they like. */
const mostEnded = 100_000;

/**
 * Sessions live in their cookies, so a console that starts again with the same key knows them. Those that
 * were logged out are remembered until they would have ended, by this process.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #clock: Clock;
  readonly #ended = new Map<string, number>();

  constructor(key: Buffer, clock: Clock) {
    this.#key = key;
    this.#clock = clock;
  }

  /** A cookie's value. */
  begin(who: Omit<Claims, 'id'>): string {
    return sign(this.#key, 'session', { id: randomUUID(), ...who });
  }

  read(cookie: string): Claims | undefined {
    const claims = readSigned(this.#key, 'session', schema, cookie, this.#clock.now());
    return claims === undefined || this.#ended.has(claims.id) ? undefined : claims;
  }

  end({ id, untilMs }: Claims): void {
    const nowMs = this.#clock.now();
    for (const [ended, endMs] of this.#ended) {
      if (endMs > nowMs && this.#ended.size < mostEnded) continue;
      this.#ended.delete(ended);
    }
    this.#ended.set(id, untilMs);
  }

  csrfOf({ id }: Pick<Claims, 'id'>): string {
    return macOf(this.#key, 'csrf', id);
  }
}
