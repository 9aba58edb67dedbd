import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../ops/clock.ts';
import type { Session } from '../api/answers/deployment.ts';
import { longestLinkMs } from '../../topology.ts';
import { ProblemError } from '../api/problem.ts';
import { keyFor, macOf, readSigned, sign } from './signed.ts';

/** The content of a session's cookie. */
export interface Claims {
  readonly id: string;
  readonly untilMs: number;
  /** The person's name; for a customer, the destination. */
  readonly user: string;
  /** `<issuer> <sub>` of somebody who has logged in with the identity provider. */
  readonly subject?: string | undefined;
  readonly role: 'viewer' | 'operator' | 'customer';
  /** The id of a customer's link, which decides what is shown. */
  readonly link?: string | undefined;
  /** A mark of the token that the session was begun with. Removing the token ends the session. */
  readonly token?: string | undefined;
}

const schema: z.ZodType<Claims> = z.object({
  id: z.string(),
  untilMs: z.number(),
  user: z.string(),
  subject: z.string().optional(),
  role: z.enum(['viewer', 'operator', 'customer']),
  link: z.string().optional(),
  token: z.string().optional(),
});

/** A working day: after it one logs in again, with the role that one has then. */
export const sessionMs: number = 8 * 3_600_000;
/** About 15 MB. A customer can begin and end sessions as often as they like. */
const mostEnded = 100_000;

/**
 * Sessions live in their cookies, so a console that starts again with the same key knows them. Those that were logged
 * out are remembered until they would have ended; those of staff are in the audit too, which a start reads again.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #csrfKey: Buffer;
  readonly #clock: Clock;
  readonly #ended = new Map<string, number>();

  constructor(consoleKey: Buffer, clock: Clock) {
    this.#key = keyFor(consoleKey, 'session');
    this.#csrfKey = keyFor(consoleKey, 'csrf');
    this.#clock = clock;
  }

  /** A cookie's value. */
  begin(who: Omit<Claims, 'id'>): string {
    return sign(this.#key, { id: randomUUID(), ...who });
  }

  /** Undefined also for one that lasts longer than any that begins now. */
  read(cookie: string): Claims | undefined {
    const nowMs = this.#clock.now();
    const claims = readSigned(this.#key, schema, cookie, nowMs);
    if (claims === undefined) return undefined;
    const mostMs = claims.link === undefined ? sessionMs : longestLinkMs;
    if (claims.untilMs > nowMs + mostMs) return undefined;
    return this.#ended.has(claims.id) ? undefined : claims;
  }

  end({ id, untilMs }: Pick<Claims, 'id' | 'untilMs'>): void {
    const nowMs = this.#clock.now();
    if (untilMs <= nowMs) return;
    for (const [ended, endMs] of this.#ended) {
      if (endMs > nowMs && this.#ended.size < mostEnded) continue;
      this.#ended.delete(ended);
    }
    this.#ended.set(id, untilMs);
  }

  csrfOf({ id }: Pick<Claims, 'id'>): string {
    return macOf(this.#csrfKey, id);
  }
}

/** Identifies a person in the audit: by what nobody can choose, with the name beside it. */
export function whoIs({ user, subject }: Pick<Claims, 'user' | 'subject'>): {
  readonly user: string;
  readonly name?: string;
} {
  return subject === undefined ? { user } : { user: subject, name: user };
}

/** @throws ProblemError 403 */
export function operatorOf({ session }: Pick<FastifyRequest, 'session'>): Session {
  if (session?.role === 'operator') return session;
  throw new ProblemError(403, 'Only operators may do this.');
}
