/** Seeded chance: the same seed gives the same numbers on every machine (sfc32). */
export class Random {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    for (let i = 0; i < 12; i += 1) this.#next();
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number below `bound`. */
  below(bound: number): number {
    return this.#next() % bound;
  }

  /** Small numbers much more often than large ones: 1 to `most`. */
  mostlySmall(most: number): number {
    return 1 + this.below(1 + this.below(Math.min(most, 1 << (1 + this.below(12)))));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}
