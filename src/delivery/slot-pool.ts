/** What can use a slot that has become free. */
export interface SlotTaker {
  /** In the pool's line; the pool's own note. */
  isInLine: boolean;
  /** Takes one slot and starts what waited for it, if it still can. True if more waits for a slot. */
  takeSlot(): boolean;
}

/** The process's cap on deliveries in flight; lanes that find it reached take turns. */
export class SlotPool {
  readonly size: number;
  #taken = 0;
  #closed = false;
  #refused = false;
  /** In the order in which they asked, each once. */
  readonly #line: SlotTaker[] = [];

  constructor(size: number) {
    this.size = size;
  }

  get taken(): number {
    return this.#taken;
  }

  get isFull(): boolean {
    return this.#taken >= this.size || this.#closed;
  }

  /** No slot is given out any more. */
  close(): void {
    this.#closed = true;
  }

  /** True, and a slot is taken; or false, and the taker's turn will come. */
  take(taker: SlotTaker): boolean {
    if (this.isFull) {
      this.#refused = true;
      this.#queue(taker);
      return false;
    }
    this.#taken += 1;
    return true;
  }

  /** Whether somebody had to wait since the last question. */
  wasShort(): boolean {
    const refused = this.#refused || this.#line.length > 0;
    this.#refused = false;
    return refused;
  }

  release(): void {
    this.#taken -= 1;
    // A taker that wants more goes to the end of the line, and this loop meets it again there.
    while (this.#line.length > 0 && !this.isFull) {
      const taker = this.#line.shift();
      if (taker === undefined) return;
      taker.isInLine = false;
      if (taker.takeSlot()) this.#queue(taker);
    }
  }

  #queue(taker: SlotTaker): void {
    if (taker.isInLine) return;
    taker.isInLine = true;
    this.#line.push(taker);
  }
}
