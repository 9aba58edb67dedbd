/** What can use a slot that has become free. */
export interface SlotTaker {
  /** In the pool's line; the pool's own note. */
  isInLine: boolean;
  /** It shares a quarter of the slots with its like. */
  readonly isSlow: boolean;
  /** Takes one slot and starts what waited for it, if it still can. True if more waits for a slot. */
  takeSlot(): boolean;
}

/** Of the slots, for all slow takers together, while others have something to do. */
const slowShare = 0.25;

/** The process's cap on deliveries in flight; lanes that find it reached take turns. */
export class SlotPool {
  readonly size: number;
  readonly #slowSize: number;
  readonly #maySend: () => boolean;
  #taken = 0;
  #slowTaken = 0;
  #closed = false;
  #serving = false;
  #refused = false;
  /** Others than slow ones wanted slots in this interval, and in the one before. */
  #briskNow = false;
  #briskBefore = false;
  /** In the order in which they asked, each once. */
  #line: SlotTaker[] = [];
  #slowLine: SlotTaker[] = [];
  #slowTurn = false;

  /** @param maySend false: no slot is given out for now; `tick` gives them out again */
  constructor(size: number, maySend: () => boolean = () => true) {
    this.size = size;
    this.#maySend = maySend;
    this.#slowSize = Math.max(1, Math.floor(size * slowShare));
  }

  get taken(): number {
    return this.#taken;
  }

  get slowTaken(): number {
    return this.#slowTaken;
  }

  get isFull(): boolean {
    return this.#taken >= this.size || this.#closed || !this.#maySend();
  }

  /** Slow takers have to wait, and others do not. Alone they may use all slots. */
  get isSlowFull(): boolean {
    return this.#slowTaken >= this.#slowSize && (this.#briskNow || this.#briskBefore);
  }

  /** No slot is given out any more. */
  close(): void {
    this.#closed = true;
  }

  /** True, and a slot is taken; or false, and the taker's turn will come. */
  take(taker: SlotTaker): boolean {
    if (!taker.isSlow) this.#briskNow = true;
    if (this.isFull) {
      this.#refused = true;
      this.#queue(taker);
      return false;
    }
    if (taker.isSlow) {
      if (this.isSlowFull) {
        this.#queue(taker);
        return false;
      }
      this.#slowTaken += 1;
    }
    this.#taken += 1;
    return true;
  }

  release(isSlow: boolean): void {
    this.#taken -= 1;
    if (isSlow) this.#slowTaken -= 1;
    if (this.#line.length > 0 || this.#slowLine.length > 0) this.#serve();
  }

  /** A taker that holds so many slots has become slow, or is so no longer. */
  moved(slots: number, isSlow: boolean): void {
    this.#slowTaken += isSlow ? slots : -slots;
  }

  /** Whether somebody had to wait for a free slot since the last question. */
  wasShort(): boolean {
    const refused = this.#refused || this.#line.length > 0;
    this.#refused = false;
    return refused;
  }

  /** About once a second. */
  tick(): void {
    this.#briskBefore = this.#briskNow;
    this.#briskNow = this.#line.length > 0;
    this.#serve();
  }

  #serve(): void {
    // A taker may drop all that waited and give its slot back at once: this loop goes on with it, or
    // thousands of such takers would be as many calls inside each other.
    if (this.#serving) return;
    this.#serving = true;
    try {
      this.#serveInTurn();
    } finally {
      this.#serving = false;
    }
  }

  #serveInTurn(): void {
    // A taker that wants more goes to the end of its line, and this loop meets it again there.
    while (!this.isFull) {
      const taker = this.#nextTaker();
      if (taker === undefined) return;
      taker.isInLine = false;
      if (taker.takeSlot()) this.#queue(taker);
    }
  }

  /** The two lines take turns as long as both may go. */
  #nextTaker(): SlotTaker | undefined {
    const slow = this.#slowLine.length > 0 && !this.isSlowFull;
    this.#slowTurn = slow && (this.#line.length === 0 || !this.#slowTurn);
    return this.#slowTurn ? this.#slowLine.shift() : this.#line.shift();
  }

  #queue(taker: SlotTaker): void {
    if (taker.isInLine) return;
    taker.isInLine = true;
    (taker.isSlow ? this.#slowLine : this.#line).push(taker);
  }
}
