import type { Clock } from '../../ops/clock.ts';
import type { Followed } from '../../ops/followed.ts';
import type { Logger } from '../../ops/log.ts';
import { ProblemError } from '../api/problem.ts';
import { GuessLimit } from './guess-limit.ts';
import { keyFor, macOf } from './signed.ts';
import { findToken, type KnownToken } from './tokens-file.ts';

/** Finds the owner of a token, for people who log in with one and for programs that send one along. */
export class Tokens {
  readonly #file: Followed<readonly KnownToken[]>;
  readonly #key: Buffer;
  readonly #log: Logger;
  readonly #guesses: GuessLimit;

  constructor(
    file: Followed<readonly KnownToken[]>,
    { key, clock, log }: { readonly key: Buffer; readonly clock: Clock; readonly log: Logger },
  ) {
    this.#file = file;
    this.#key = keyFor(key, 'token');
    this.#log = log;
    this.#guesses = new GuessLimit(clock);
  }

  /**
   * Undefined: nobody's. A right token is right from any address: behind a proxy, all people may have the same.
   * @throws ProblemError 429 for a wrong token of an address that has guessed too often
   */
  whose(token: string, address: string): KnownToken | undefined {
    const found = findToken(this.#file.current(), token);
    if (found !== undefined) return found;
    if (this.#guesses.isReached(address))
      throw new ProblemError(
        429,
        'Too many wrong tokens came from your address; try again in ten minutes.',
      );
    if (this.#guesses.wasWrong(address, token))
      this.#log.warn({ address }, 'a wrong token was given to the console');
    return undefined;
  }

  /** The mark of a token, which a session that was begun with it remembers. */
  markOf({ name, sha256 }: KnownToken): string {
    return macOf(this.#key, `${name}.${sha256}`);
  }

  /** Undefined: it was taken away, or exchanged. */
  byMark(mark: string): KnownToken | undefined {
    return this.#file.current().find((token) => this.markOf(token) === mark);
  }
}
