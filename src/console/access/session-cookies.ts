import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RecordedLink } from '../../event/audit-entry.ts';
import type { Clock } from '../../ops/clock.ts';
import { sessionMs, type Claims, type Sessions } from './sessions.ts';

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
  readonly #name: string;

  /** @param isSecure where people reach the console by https */
  constructor(sessions: Sessions, clock: Clock, isSecure: boolean) {
    this.sessions = sessions;
    this.#clock = clock;
    this.#isSecure = isSecure;
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
  ): Claims | undefined {
    const read = (name: string): Claims | undefined => {
      const cookie = cookies[name];
      return cookie === undefined ? undefined : this.sessions.read(cookie);
    };
    if (typeof link === 'string') return read(this.#nameOf(link));
    const names = [this.#name, ...this.#linksIn(cookies)];
    return names.map(read).find((claims) => claims !== undefined);
  }

  /** Begins a session of staff. */
  begin(reply: FastifyReply, who: Omit<Claims, 'id' | 'untilMs'>): void {
    this.#begin(reply, who, this.#clock.now() + sessionMs);
  }

  /** Begins a customer's session, which lasts as long as the link. */
  beginBy(
    { id, destination, untilMs }: Pick<RecordedLink, 'id' | 'destination' | 'untilMs'>,
    { cookies }: Pick<FastifyRequest, 'cookies'>,
    reply: FastifyReply,
  ): void {
    const others = this.#linksIn(cookies).filter((name) => name !== this.#nameOf(id));
    for (const name of others.slice(0, Math.max(0, others.length + 1 - mostLinks)))
      reply.clearCookie(name, this.#attributes());
    this.#begin(reply, { user: destination, role: 'customer', link: id }, untilMs);
  }

  #begin(reply: FastifyReply, who: Omit<Claims, 'id' | 'untilMs'>, untilMs: number): void {
    const cookie = this.sessions.begin({ ...who, untilMs });
    const maxAge = Math.floor((untilMs - this.#clock.now()) / 1_000);
    reply.setCookie(this.#nameOf(who.link), cookie, { ...this.#attributes(), maxAge });
  }

  end(reply: FastifyReply, claims: Claims): void {
    this.sessions.end(claims);
    reply.clearCookie(this.#nameOf(claims.link), this.#attributes());
  }

  #nameOf(link: string | undefined): string {
    return link === undefined ? this.#name : `${this.#name}-${link}`;
  }

  /** The oldest first, as browsers send them. */
  #linksIn(cookies: FastifyRequest['cookies']): readonly string[] {
    return Object.keys(cookies).filter((name) => name.startsWith(`${this.#name}-`));
  }

  #attributes(): {
    readonly path: string;
    readonly httpOnly: true;
    readonly sameSite: 'strict';
    readonly secure: boolean;
  } {
    return { path: '/', httpOnly: true, sameSite: 'strict', secure: this.#isSecure };
  }
}
