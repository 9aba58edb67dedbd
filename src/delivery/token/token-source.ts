import { LogThrottle } from '../../ops/log-throttle.ts';
import type { SteadyClock, Timer } from '../../ops/clock.ts';
import type { OAuth2 } from '../../resources/schema/webhook-login.ts';
import type { Sender } from '../sender.ts';
import { isAway, pauseMs, timesOf } from './token-times.ts';
import type { FailedTries, TokenTimes } from './token-times.ts';

export interface Token extends TokenTimes {
  /** The value of the header `Authorization`. */
  readonly authorization: string;
  readonly fetchedMs: number;
}

/** The reason why there is no token, for people. Times are epoch milliseconds. */
export interface TokenFailure {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly nextTryMs: number;
  readonly detail: string;
}

/** The value of the header `Authorization` (RFC 6750). */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

export interface TokenEvents {
  /** @param wasMissed the tries before had failed */
  tokenFetched(source: TokenSource, wasMissed: boolean): void;
  tokenMissed(source: TokenSource, detail: string): void;
}

export interface TokenSourceDeps {
  readonly clock: SteadyClock;
  readonly random: () => number;
  readonly sender: Pick<Sender, 'fetchToken'>;
  readonly events: TokenEvents;
}

/**
 * One token for all URLs with the same credentials, however many of them wait for it. It is fetched when it is wanted,
 * and renewed before its end while it is used. This is the authorization server's own breaker: while no token can be
 * had, it alone decides when the next try is made.
 */
export class TokenSource {
  /** Without credentials and query, so that logs may show it. */
  readonly publicUrl: string;
  /** One line a minute, because a server may be away all day long. */
  readonly missedLog: LogThrottle = new LogThrottle(60_000);
  readonly #login: OAuth2;
  readonly #deps: TokenSourceDeps;
  readonly #users = new Set<() => void>();
  #token: Token | undefined = undefined;
  #isFetching = false;
  /** Some user lacks a token, so the next try does not wait for an event. */
  #isWanted = false;
  #tries: FailedTries | undefined = undefined;
  #detail = '';
  /** By the steady clock. */
  #nextTryMs = 0;
  #retry: Timer | undefined = undefined;
  #end: Timer | undefined = undefined;
  #isClosed = false;

  constructor(login: OAuth2, deps: TokenSourceDeps) {
    const { origin, pathname } = new URL(login.tokenUrl);
    this.publicUrl = origin + pathname;
    this.#login = login;
    this.#deps = deps;
  }

  /** The token that requests may carry now. */
  get token(): Token | undefined {
    return this.#token;
  }

  /** No other token can be had for the moment. */
  get isAway(): boolean {
    return this.#tries !== undefined && isAway(this.#tries);
  }

  /** Time since the first try that failed, by the steady clock; 0 if none has. */
  get failingForMs(): number {
    return this.#tries === undefined ? 0 : this.#deps.clock.steadyNow() - this.#tries.fromMs;
  }

  get failure(): TokenFailure | undefined {
    if (this.#tries === undefined) return undefined;
    const { clock } = this.#deps;
    const epochMs = clock.now() - clock.steadyNow();
    return {
      sinceMs: epochMs + this.#tries.fromMs,
      lastMs: epochMs + this.#tries.failedMs,
      nextTryMs: epochMs + this.#nextTryMs,
      detail: `no token from ${this.publicUrl}: ${this.#detail}`,
    };
  }

  /** @param onChange a token came or ended, or a try failed */
  add(onChange: () => void): void {
    this.#users.add(onChange);
  }

  /** @returns whether there is no user left */
  remove(onChange: () => void): boolean {
    this.#users.delete(onChange);
    return this.#users.size === 0;
  }

  /** Must be called before a token is used. */
  used(): void {
    const nowMs = this.#deps.clock.steadyNow();
    if (this.#token !== undefined && nowMs < this.#token.renewMs) return;
    if (nowMs >= this.#nextTryMs) this.#fetch();
  }

  /** Another token is needed than the present one, if there is one. */
  want(): void {
    this.#isWanted = true;
    if (this.#retry === undefined) this.#fetch();
  }

  /** Ends the pause before the next try. */
  tryNow(): void {
    if (this.#tries === undefined) return;
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#fetch();
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#end?.cancel();
  }

  #fetch(): void {
    if (this.#isFetching) return;
    this.#isFetching = true;
    const { clock, sender } = this.#deps;
    const fromMs = clock.steadyNow();
    sender.fetchToken(this.#login, (answer) => {
      this.#isFetching = false;
      if (this.#isClosed) return;
      if (answer.kind === 'token') this.#got(answer.token, fromMs, answer.lifeS);
      else this.#missed(fromMs, answer.detail);
      this.#tell();
    });
  }

  #got(token: string, fromMs: number, lifeS: number | undefined): void {
    const { clock, events } = this.#deps;
    events.tokenFetched(this, this.#tries !== undefined);
    this.#tries = undefined;
    this.#isWanted = false;
    this.#nextTryMs = 0;
    this.#retry?.cancel();
    this.#retry = undefined;
    const times = timesOf(fromMs, lifeS);
    const fetchedMs = clock.steadyNow();
    this.#token = { authorization: bearer(token), fetchedMs, ...times };
    this.#end?.cancel();
    this.#end = clock.after(Math.max(0, times.endMs - fetchedMs), () => {
      this.#token = undefined;
      // Tries to renew it have failed, and may have to be repeated without waiting for an event.
      if (this.#tries !== undefined) this.#isWanted = true;
      this.#awaitRetry();
      this.#tell();
    });
  }

  #missed(fromMs: number, detail: string): void {
    const { clock, random, events } = this.#deps;
    const failedMs = clock.steadyNow();
    this.#tries = { fromMs: this.#tries?.fromMs ?? fromMs, failedMs };
    this.#detail = detail;
    this.#nextTryMs = failedMs + pauseMs(this.#tries, random);
    events.tokenMissed(this, detail);
    this.#awaitRetry();
  }

  #awaitRetry(): void {
    if (!this.#isWanted || this.#isFetching || this.#retry !== undefined) return;
    const { clock } = this.#deps;
    this.#retry = clock.after(Math.max(0, this.#nextTryMs - clock.steadyNow()), () => {
      this.#retry = undefined;
      this.#fetch();
    });
  }

  #tell(): void {
    for (const onChange of this.#users) onChange();
  }
}
