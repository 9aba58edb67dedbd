import type { Clock } from '../../ops/clock.ts';

/** An answer that is made once for all requests within a time. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  readonly #make: () => Promise<T>;
  #made: { readonly atMs: number; readonly value: Promise<T> } | undefined;

  constructor(clock: Clock, forMs: number, make: () => Promise<T>) {
    this.#clock = clock;
    this.#forMs = forMs;
    this.#make = make;
  }

  async get(): Promise<T> {
    const nowMs = this.#clock.now();
    const made = this.#made;
    if (made !== undefined && nowMs - made.atMs < this.#forMs && nowMs >= made.atMs)
      return made.value;
    const value = this.#make();
    this.#made = { atMs: nowMs, value };
    // A failure is not remembered.
    value.catch(() => (this.#made = undefined));
    return value;
  }
}
