import { seededRandom } from '../../delivery/simulated-clock.ts';

/** Choices that a seed decides. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  /** @throws RangeError there is none */
  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('nothing to choose from');
    return choices[this.between(0, choices.length - 1)] as T;
  }

  shuffled<T>(all: readonly T[]): T[] {
    const rest = [...all];
    return Array.from(all, () => rest.splice(this.between(0, rest.length - 1), 1)[0] as T);
  }
}
