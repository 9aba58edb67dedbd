/** Bounds what all requests together hold in memory. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #whole: ByteBudget | undefined;
  #usedBytes = 0;

  /** With a `whole`, it is a part of that one: what is taken here is taken there too. */
  constructor(maxBytes: number, whole?: ByteBudget) {
    this.#maxBytes = maxBytes;
    this.#whole = whole;
  }

  half(): ByteBudget {
    return new ByteBudget(this.#maxBytes / 2, this);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** What one request holds. */
  lease(): Lease {
    return new Lease(this);
  }

  /** False where so much more would be above the limit; nothing is taken then. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false;
    if (this.#whole?.take(bytes) === false) return false;
    this.#usedBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#whole?.giveBack(bytes);
  }
}

export class Lease {
  #budget: ByteBudget;
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** False where there is no room. */
  grow(bytes: number): boolean {
    if (!this.#budget.take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** To the whole that its budget is a part of: there is room for what it holds. */
  moveTo(whole: ByteBudget): void {
    const bytes = this.#bytes;
    this.release();
    this.#budget = whole;
    this.grow(bytes);
  }

  release(): void {
    this.#budget.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}
