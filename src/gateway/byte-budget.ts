/**
 * Bounds what all requests together hold in memory. A holder may not hold more than what is free: one holder
 * alone half of all, two a third each. There is therefore always room for another holder, however much the
 * others send.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #held = new Map<string, number>();
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The bytes that one request of the holder holds. */
  lease(holder: string): Lease {
    return new Lease(this, holder);
  }

  /** False, and nothing is taken, if the bytes would exceed the limit. */
  take(holder: string, bytes: number): boolean {
    const held = (this.#held.get(holder) ?? 0) + bytes;
    if (held > this.#maxBytes - this.#usedBytes) return false;
    this.#held.set(holder, held);
    this.#usedBytes += bytes;
    return true;
  }

  giveBack(holder: string, bytes: number): void {
    const held = (this.#held.get(holder) ?? 0) - bytes;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
    this.#usedBytes -= bytes;
  }
}

export class Lease {
  readonly #budget: ByteBudget;
  #holder: string;
  #bytes = 0;

  constructor(budget: ByteBudget, holder: string) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** False if there is no room. */
  grow(bytes: number): boolean {
    if (!this.#budget.take(this.#holder, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Moves the bytes to another holder. False, with the bytes released, if that holder has no room. */
  moveTo(holder: string): boolean {
    const bytes = this.#bytes;
    this.release();
    this.#holder = holder;
    return this.grow(bytes);
  }

  release(): void {
    this.#budget.giveBack(this.#holder, this.#bytes);
    this.#bytes = 0;
  }
}
