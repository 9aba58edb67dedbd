import { createHash } from 'node:crypto';
import type { Retryable } from '../outcome.ts';
import type { OAuth2 } from '../../resources/schema/webhook-login.ts';
import { mayBeRevoked } from './token-times.ts';
import {
  TokenSource,
  type Token,
  type TokenFailure,
  type TokenSourceDeps,
} from './token-source.ts';

/** A URL that was not tried because its authorization server gives no token. */
export function withoutToken(detail: string): Retryable {
  return { kind: 'retryable', cause: 'token', detail };
}

/** The endpoint refused a token that may have been revoked, so the event is sent again with another one. */
export const tokenRefused: Retryable = Object.freeze({
  kind: 'retryable',
  cause: 'token',
  detail: 'answered 401; the event is sent again with another token',
  status: 401,
});

/** A worker's tokens: the URLs with the same credentials share one. */
export class Tokens {
  readonly #deps: TokenSourceDeps;
  readonly #sources = new Map<string, TokenSource>();

  constructor(deps: TokenSourceDeps) {
    this.#deps = deps;
  }

  /** @param onChange the login's state may be another one now */
  logIn(login: OAuth2, onChange: () => void): Login {
    const key = keyOf(login);
    let source = this.#sources.get(key);
    if (source === undefined) {
      source = new TokenSource(login, this.#deps);
      this.#sources.set(key, source);
    }
    const kept = source;
    return new Login(kept, this.#deps, onChange, () => {
      if (this.#sources.get(key) === kept) this.#sources.delete(key);
      kept.close();
    });
  }
}

/** Not the credentials themselves, so that the secret is in memory no more often than necessary. */
function keyOf({ tokenUrl, clientId, clientSecret, scope, audience, auth }: OAuth2): string {
  const all = JSON.stringify([tokenUrl, clientId, clientSecret, scope, audience, auth]);
  return createHash('sha256').update(all).digest('base64');
}

/**
 * `awaited`: there is no token, and it may come any moment. `away`: the authorization server gives none for the
 * moment.
 */
export type LoginState = 'ready' | 'awaited' | 'away';

/** The use of a token by one URL. */
export class Login {
  readonly #source: TokenSource;
  readonly #clock: TokenSourceDeps['clock'];
  readonly #onChange: () => void;
  readonly #onLast: () => void;
  /** The endpoint answers 401 to it. Other URLs may go on with it. */
  #refused: Token | undefined = undefined;

  /** @param onLast nobody uses the source any more */
  constructor(
    source: TokenSource,
    { clock }: Pick<TokenSourceDeps, 'clock'>,
    onChange: () => void,
    onLast: () => void,
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#onLast = onLast;
    source.add(onChange);
  }

  get state(): LoginState {
    if (this.#token !== undefined) return 'ready';
    return this.#source.isAway ? 'away' : 'awaited';
  }

  /** The value of the header `Authorization` of a request that goes out now. */
  get authorization(): string | undefined {
    return this.#token?.authorization;
  }

  /** Why no request goes out, while the state is `away`. */
  get failure(): TokenFailure | undefined {
    return this.state === 'away' ? this.#source.failure : undefined;
  }

  /** Time since the first try to get a token that failed. */
  get failingForMs(): number {
    return this.#source.failingForMs;
  }

  /** An event waits for a token, or is about to be sent with it. */
  want(): void {
    if (this.#token === undefined) this.#source.want();
    else this.#source.used();
  }

  /** The authorization server may have been mended. */
  tryNow(): void {
    this.#source.tryNow();
  }

  /**
   * The endpoint has answered 401.
   * @param startedMs when the request was sent, by the steady clock
   * @returns whether the event should be sent again with another token: not after one that was just fetched
   */
  refused(startedMs: number): boolean {
    const { token } = this.#source;
    if (token === undefined || token === this.#refused || token.fetchedMs > startedMs) return true;
    if (!mayBeRevoked(token.fetchedMs, this.#clock.steadyNow())) return false;
    this.#refused = token;
    this.#source.want();
    this.#onChange();
    return true;
  }

  close(): void {
    if (this.#source.remove(this.#onChange)) this.#onLast();
  }

  get #token(): Token | undefined {
    const { token } = this.#source;
    return token === this.#refused ? undefined : token;
  }
}
