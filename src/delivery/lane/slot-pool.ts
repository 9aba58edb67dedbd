/** What can use a slot that has become free. */
export interface SlotTaker {
  /** The one of the pool's lines that it waits in; the pool's own note. */
  line: Set<SlotTaker> | undefined;
  /** It shares a quarter of the slots with its like. */
  readonly isSlow: boolean;
  /** The slots that it has. */
  readonly inFlight: number;
  /** Takes one slot and starts what waited for it, if it still can. True if more waits for a slot. */
  takeSlot(): boolean;
}

/** Of the slots, for all slow takers together, while others have something to do. */
const slowShare = 0.25;
/** While we are cut off so many are given out, and afterwards twice as many with each second. */
const restrictedSlots = 16;
/** While others wait, a slow one is served after so many of them. */
const briskInRow = 3;
/** Of the slots, for takers that have less than their share: the others may hold all of the rest for long. */
const keptShare = 0.125;
/** By how many slots they have: 0, 1, 2 to 3, 4 to 7, and so on. */
const lines = 8;

/**
 * The process's cap on deliveries in flight. Lanes that find it reached take turns, those that have fewer
 * slots first: for what an endpoint takes by being slow, no other has to wait.
 */
export class SlotPool {
  readonly size: number;
  readonly #slowSize: number;
  readonly #maySend: () => boolean;
  #taken = 0;
  #slowTaken = 0;
  #closed = false;
  #serving = false;
  /** Others than slow ones wanted slots in this interval, and in the one before. */
  #briskNow = false;
  #briskBefore = false;
  /** Each in the order in which they asked. */
  readonly #briskLines = Array.from({ length: lines }, () => new Set<SlotTaker>());
  readonly #slowLine = new Set<SlotTaker>();
  #briskInRow = 0;
  /** Fewer than all of them while we are cut off, and for some seconds afterwards. */
  #givenOut: number;
  #kept = 0;
  /** Of each taker in what is not kept. */
  #share = Infinity;
  #isCutOff = false;

  /** @param maySend false: no slot is given out for now; `tick` gives them out again */
  constructor(size: number, maySend: () => boolean = () => true) {
    this.size = size;
    this.#maySend = maySend;
    this.#givenOut = size;
    this.#slowSize = Math.max(1, Math.floor(size * slowShare));
  }

  get taken(): number {
    return this.#taken;
  }

  get slowTaken(): number {
    return this.#slowTaken;
  }

  get isFull(): boolean {
    return this.#taken >= this.#givenOut || this.#closed || !this.#maySend();
  }

  /** Slow takers have to wait, and others do not. Alone they may use all slots. */
  get isSlowFull(): boolean {
    return this.#slowTaken >= this.#slowSize && this.#isSomeBrisk;
  }

  get #isSomeBrisk(): boolean {
    return this.#briskNow || this.#briskBefore;
  }

  #mayTake({ isSlow, inFlight }: SlotTaker): boolean {
    if (this.isFull || (isSlow && this.isSlowFull)) return false;
    const areFewLeft = this.#givenOut - this.#taken <= this.#kept && this.#isSomeBrisk;
    return !areFewLeft || (!isSlow && inFlight < this.#share);
  }

  /** No slot is given out any more. */
  close(): void {
    this.#closed = true;
  }

  /** True, and a slot is taken; or false, and the taker's turn will come. */
  take(taker: SlotTaker): boolean {
    if (!taker.isSlow) this.#briskNow = true;
    if (!this.#mayTake(taker)) {
      this.#queue(taker);
      return false;
    }
    if (taker.isSlow) this.#slowTaken += 1;
    this.#taken += 1;
    return true;
  }

  release(isSlow: boolean): void {
    this.#taken -= 1;
    if (isSlow) this.#slowTaken -= 1;
    if (this.#slowLine.size > 0 || this.#isBriskWaiting) this.#serve();
  }

  /** A taker that holds so many slots has become slow, or is so no longer. */
  moved(slots: number, isSlow: boolean): void {
    this.#slowTaken += isSlow ? slots : -slots;
  }

  /** Few can be reached, or all again: they are not hit with everything at once. */
  cutOff(isCutOff: boolean): void {
    this.#isCutOff = isCutOff;
    this.#givenOut = Math.min(this.size, restrictedSlots);
  }

  /** Not all slots are given out: what lanes do now is not what they could do. */
  get isRestricted(): boolean {
    return this.#isCutOff || this.#givenOut < this.size;
  }

  /** About once a second. `takers`: so many have something to do. */
  tick(takers: number): void {
    const [kept, rest] = [Math.floor(this.size * keptShare), this.size * (1 - keptShare)];
    // One that is alone has no need to leave anything.
    this.#kept = takers > 1 ? kept : 0;
    this.#share = Math.max(1, rest / takers);
    if (!this.#isCutOff) this.#givenOut = Math.min(this.size, 2 * this.#givenOut);
    this.#briskBefore = this.#briskNow;
    this.#briskNow = this.#isBriskWaiting;
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
      taker.line?.delete(taker);
      taker.line = undefined;
      if (taker.takeSlot()) this.#queue(taker);
    }
  }

  #nextTaker(): SlotTaker | undefined {
    const slow = this.#firstOf(this.#slowLine);
    const brisk = this.#firstOf(this.#briskLines.find(({ size }) => size > 0));
    const isSlowTurn = brisk === undefined || this.#briskInRow >= briskInRow;
    this.#briskInRow = isSlowTurn ? 0 : this.#briskInRow + 1;
    return isSlowTurn ? (slow ?? brisk) : brisk;
  }

  get #isBriskWaiting(): boolean {
    return this.#briskLines.some(({ size }) => size > 0);
  }

  /** One that waits already moves up when it has fewer slots than it had. */
  #queue(taker: SlotTaker): void {
    const line = taker.isSlow ? this.#slowLine : this.#briskLineFor(taker);
    if (taker.line === line) return;
    taker.line?.delete(taker);
    taker.line = line;
    line.add(taker);
  }

  #briskLineFor({ inFlight }: SlotTaker): Set<SlotTaker> {
    const magnitude = 32 - Math.clz32(inFlight);
    const line = this.#briskLines[Math.min(magnitude, lines - 1)];
    if (line === undefined) throw new RangeError(`no line for ${inFlight} slots`);
    return line;
  }

  /** If it may take a slot. */
  #firstOf(line: ReadonlySet<SlotTaker> | undefined): SlotTaker | undefined {
    for (const taker of line ?? []) return this.#mayTake(taker) ? taker : undefined;
    return undefined;
  }
}
