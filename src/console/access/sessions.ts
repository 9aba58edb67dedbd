import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../ops/clock.ts';
import { longestLinkMs } from '../../topology.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { Session } from '../api/answers/deployment.ts';
import { Credentials } from './credentials.ts';
import { isSame, keyFor, macOf, readSigned, sign } from './signed.ts';

/** The content of a session's cookie. */
export interface Claims {
  readonly id: string;
  readonly untilMs: number;
  /** The person's name; for a customer, the destination, or the customer's id. */
  readonly user: string;
  /** `<issuer> <sub>` of somebody who has logged in with the identity provider. */
  readonly subject?: string | undefined;
  readonly role: 'viewer' | 'operator' | 'customer';
  /** The id of a customer's link, which decides what is shown. */
  readonly link?: string | undefined;
  /** A mark of the token that the session was begun with. Removing the token ends the session. */
  readonly token?: string | undefined;
}

/** A session that is under way. */
export interface HeldSession extends Claims {
  /** The customer's link, the token or the ID token that it was begun with, where the API may be asked with it. */
  readonly credential?: string;
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
/** Between the signed content of a cookie and the encrypted credential. */
const separator = '~';

/**
 * Sessions live in their cookies, so a console that starts again with the same key knows them. Those that were logged
 * out are remembered until they would have ended; those of staff are in the audit too, which a start reads again.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #csrfKey: Buffer;
  readonly #clock: Clock;
  readonly #credentials: Credentials;
  readonly #ended = new Map<string, number>();

  constructor(consoleKey: Buffer, clock: Clock) {
    this.#key = keyFor(consoleKey, 'session');
    this.#csrfKey = keyFor(consoleKey, 'csrf');
    this.#clock = clock;
    this.#credentials = new Credentials(consoleKey, clock);
  }

  /**
   * A cookie's value.
   * @param credential what requests to the API are made with
   */
  begin(who: Omit<Claims, 'id'>, credential?: string): string {
    const claims = { id: randomUUID(), ...who };
    const signed = sign(this.#key, claims);
    const sealed =
      credential === undefined ? undefined : this.#credentials.seal(credential, claims);
    return sealed === undefined ? signed : signed + separator + sealed;
  }

  /** Undefined also for one that lasts longer than any that begins now. */
  read(cookie: string): HeldSession | undefined {
    const nowMs = this.#clock.now();
    const [signed = '', sealed] = cookie.split(separator);
    const claims = readSigned(this.#key, schema, signed, nowMs);
    if (claims === undefined) return undefined;
    const mostMs = claims.link === undefined ? sessionMs : longestLinkMs;
    if (claims.untilMs > nowMs + mostMs) return undefined;
    if (this.#ended.has(claims.id)) return undefined;
    const credential = this.#credentials.open(sealed, claims);
    return credential === undefined ? claims : { ...claims, credential };
  }

  end({ id, untilMs }: Pick<Claims, 'id' | 'untilMs'>): void {
    this.#credentials.forget({ id });
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

/** A customer's page says in this header by which link it was opened: a browser may have opened several. */
const linkHeader = 'x-postrider-link';
/** A browser sends all of them with every request, whose headers have a bound. */
const mostLinks = 8;

/**
 * The cookies that sessions live in; no script and no other site ever gets them sent or shown. Staff has one, and each
 * link of a customer its own, so that whoever opens a link stays in other windows who they were.
 */
export class SessionCookies {
  readonly sessions: Sessions;
  readonly #clock: Clock;
  readonly #isSecure: boolean;
  readonly #isFramed: boolean;
  readonly #name: string;

  /**
   * @param isSecure where people reach the console by https
   * @param isFramed where pages of other sites show a customer's pages in a frame; needs https
   */
  constructor(
    sessions: Sessions,
    clock: Clock,
    { isSecure, isFramed }: { readonly isSecure: boolean; readonly isFramed: boolean },
  ) {
    this.sessions = sessions;
    this.#clock = clock;
    this.#isSecure = isSecure;
    this.#isFramed = isFramed;
    // Browsers take a name with this prefix only by https, and from no sibling domain.
    this.#name = isSecure ? '__Host-postrider' : 'postrider';
  }

  /**
   * A request that says by which link it comes has that link's session; every other has that of staff, if there is one.
   * @param link its id, where something else than the header says it
   */
  of(
    { cookies, headers }: FastifyRequest,
    link: unknown = headers[linkHeader],
  ): HeldSession | undefined {
    const read = (name: string): HeldSession | undefined => {
      const cookie = cookies[name];
      return cookie === undefined ? undefined : this.sessions.read(cookie);
    };
    if (typeof link === 'string') return read(this.#nameOf(link));
    const names = [this.#name, ...this.#linksIn(cookies)];
    return names.map(read).find((claims) => claims !== undefined);
  }

  /** Begins a session of staff. */
  begin(reply: FastifyReply, who: Omit<Claims, 'id' | 'untilMs'>, credential?: string): void {
    this.#begin(reply, { ...who, untilMs: this.#clock.now() + sessionMs }, credential);
  }

  /**
   * Begins a customer's session, which lasts as long as the link.
   * @param user the destination, or the customer's id
   * @param credential the link's token, if it can change destinations
   */
  beginBy(
    { id, untilMs }: { readonly id: string; readonly untilMs: number },
    user: string,
    { cookies }: Pick<FastifyRequest, 'cookies'>,
    reply: FastifyReply,
    credential?: string,
  ): void {
    const others = this.#linksIn(cookies).filter((name) => name !== this.#nameOf(id));
    for (const name of others.slice(0, Math.max(0, others.length + 1 - mostLinks)))
      reply.clearCookie(name, this.#attributes(id));
    this.#begin(reply, { user, role: 'customer', link: id, untilMs }, credential);
  }

  #begin(reply: FastifyReply, who: Omit<Claims, 'id'>, credential: string | undefined): void {
    const cookie = this.sessions.begin(who, credential);
    const maxAge = Math.floor((who.untilMs - this.#clock.now()) / 1_000);
    reply.setCookie(this.#nameOf(who.link), cookie, { ...this.#attributes(who.link), maxAge });
  }

  end(reply: FastifyReply, claims: Claims): void {
    this.sessions.end(claims);
    reply.clearCookie(this.#nameOf(claims.link), this.#attributes(claims.link));
  }

  #nameOf(link: string | undefined): string {
    return link === undefined ? this.#name : `${this.#name}-${link}`;
  }

  /** The oldest first, as browsers send them. */
  #linksIn(cookies: FastifyRequest['cookies']): readonly string[] {
    return Object.keys(cookies).filter((name) => name.startsWith(`${this.#name}-`));
  }

  /** In a frame of another site a browser sends no cookie that is `SameSite=Strict`; staff's pages are in no frame. */
  #attributes(link: string | undefined): CookieAttributes {
    const all = { path: '/', httpOnly: true, secure: this.#isSecure } as const;
    return link !== undefined && this.#isFramed
      ? { ...all, sameSite: 'none', partitioned: true }
      : { ...all, sameSite: 'strict' };
  }
}

interface CookieAttributes {
  readonly path: string;
  readonly httpOnly: true;
  readonly secure: boolean;
  readonly sameSite: 'strict' | 'none';
  /** The browser keeps it apart for each site whose pages have the frame. */
  readonly partitioned?: true;
}

/**
 * True for a request with a token that only a page of this console can have read, if the request also
 * comes from such a page as far as a browser says. Either alone would do.
 */
export function isMeant(
  request: FastifyRequest,
  csrf: string,
  given: unknown,
  consoleOrigin: string | undefined,
): boolean {
  if (typeof given !== 'string' || !isSame(given, csrf)) return false;
  return provenance(provenanceOf(request), consoleOrigin) !== 'elsewhere';
}

/** The headers in which a browser says where a request comes from. */
interface Provenance {
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`; not sent to plain http elsewhere than on loopback. */
  readonly fetchSite: string | undefined;
  readonly host: string | undefined;
}

export function provenanceOf({ headers }: FastifyRequest): Provenance {
  const { origin, host } = headers;
  const fetchSite = headers['sec-fetch-site'];
  return { origin, host, fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined };
}

/**
 * `own`: a page of this console has sent it. `unknown`: no browser has, because browsers say where a POST
 * comes from.
 * @param consoleOrigin the public one, which a proxy may hide behind another `Host`
 */
export function provenance(
  { origin, fetchSite, host }: Provenance,
  consoleOrigin: string | undefined,
): 'own' | 'elsewhere' | 'unknown' {
  if (origin === undefined && fetchSite === undefined) return 'unknown';
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return 'elsewhere';
  if (origin !== undefined && origin !== consoleOrigin && URL.parse(origin)?.host !== host)
    return 'elsewhere';
  return 'own';
}
