import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../ops/clock.ts';
import { sessionMs, type Claims, type Sessions } from './sessions.ts';

/** The cookie that a session lives in; no script and no other site ever gets it sent or shown. */
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

  of({ cookies }: FastifyRequest): Claims | undefined {
    const cookie = cookies[this.#name];
    return cookie === undefined ? undefined : this.sessions.read(cookie);
  }

  /** @param latestMs when it ends, if that is before a session's usual end */
  begin(
    reply: FastifyReply,
    who: Omit<Claims, 'id' | 'untilMs'>,
    latestMs: number = Infinity,
  ): void {
    const nowMs = this.#clock.now();
    const untilMs = Math.min(nowMs + sessionMs, latestMs);
    const cookie = this.sessions.begin({ ...who, untilMs });
    const maxAge = Math.floor((untilMs - nowMs) / 1_000);
    reply.setCookie(this.#name, cookie, { ...this.#attributes(), maxAge });
  }

  end(reply: FastifyReply, claims: Claims): void {
    this.sessions.end(claims);
    reply.clearCookie(this.#name, this.#attributes());
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
