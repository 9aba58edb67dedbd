import type { Clock } from '../../ops/clock.ts';
import { networkOf } from '../../ops/connection-limit.ts';
import { sha256 } from './signed.ts';

const mostWrong = 10;
const windowMs = 10 * 60_000;
const mostAddresses = 10_000;

interface Guesses {
  readonly untilMs: number;
  readonly wrong: Set<string>;
}

/**
 * Ten wrong tokens of one address, and for ten minutes no other wrong one of it is answered. The same one again is not
 * counted: it is a program whose token was taken away, and guesses nothing.
 */
export class GuessLimit {
  readonly #clock: Clock;
  /** In the order of their ends. */
  readonly #guesses = new Map<string, Guesses>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isReached(address: string): boolean {
    return (this.#of(networkOf(address))?.wrong.size ?? 0) >= mostWrong;
  }

  /** @returns whether it is the first time that this one is wrong */
  wasWrong(address: string, token: string): boolean {
    const network = networkOf(address);
    const guesses = this.#of(network) ?? this.#begin(network);
    const before = guesses.wrong.size;
    guesses.wrong.add(sha256(token).toString('base64'));
    return guesses.wrong.size > before;
  }

  #of(network: string): Guesses | undefined {
    const guesses = this.#guesses.get(network);
    return guesses !== undefined && this.#clock.now() < guesses.untilMs ? guesses : undefined;
  }

  #begin(network: string): Guesses {
    this.#guesses.delete(network);
    const [oldest] = this.#guesses.keys();
    if (oldest !== undefined && this.#guesses.size >= mostAddresses) this.#guesses.delete(oldest);
    const guesses = { untilMs: this.#clock.now() + windowMs, wrong: new Set<string>() };
    this.#guesses.set(network, guesses);
    return guesses;
  }
}
