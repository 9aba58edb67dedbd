/** A taker of slots: a lane. */
export interface SlotTaker {
  /** The line of the pool that the taker waits in. Only the pool sets it. */
  line: Set<SlotTaker> | undefined;
  /** The taker shares a quarter of the slots with other slow ones. */
  readonly isSlow: boolean;
  /** The slots that the taker has. */
  readonly inFlight: number;
  /**
   * Takes one slot and starts a waiting job, if there still is one. Returns true if more jobs wait for a
   * slot.
   */
  takeSlot(): boolean;
}

/** Share of the slots for all slow takers together, while others have work. */
const slowShare = 0.25;
/** Slots that are given out after this worker was cut off. The number doubles each second. */
const firstSlots = 16;
/** While others wait, a slow taker is served after so many of them. */
const briskInRow = 3;
/** Share of the slots for takers with less than their share. Other takers may hold the rest for long. */
const keptShare = 0.125;
/** The share of slots that may be taken while there is a slot for everybody. */
const roomyShare = 0.75;
/** Takers wait in lines by how many slots they have: 0, 1, 2 to 3, 4 to 7, and so on. */
const lines = 8;

/**
 * The process's limit of deliveries in flight. When it is reached, lanes take turns, those with fewer slots
 * first, so that no lane waits for what a slow endpoint holds.
 */
export class SlotPool {
  readonly size: number;
  readonly #slowSize: number;
  readonly #maySend: () => boolean;
  #taken = 0;
  #slowTaken = 0;
  #closed = false;
  #serving = false;
  /** Takers that are not slow wanted slots in this interval, and in the one before. */
  #briskNow = false;
  #briskBefore = false;
  /** Each line is in the order in which its takers asked. */
  readonly #briskLines = Array.from({ length: lines }, () => new Set<SlotTaker>());
  readonly #slowLine = new Set<SlotTaker>();
  #briskInRow = 0;
  /** Slots that may be given out: fewer than all for some seconds after this worker was cut off. */
  #givenOut: number;
  /** The number of takers with work. */
  #takers = 0;
  #kept = 0;
  /** Each taker's share of the slots that are not reserved. */
  #share = Infinity;

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

  /** Lanes that wait, wait for something else than a slot of the pool. */
  get hasRoom(): boolean {
    return !this.isFull && this.#taken < roomyShare * this.size;
  }

  get slowTaken(): number {
    return this.#slowTaken;
  }

  get isFull(): boolean {
    return this.#taken >= this.#givenOut || this.#closed || !this.#maySend();
  }

  /** Slow takers have to wait, and others do not. Alone, they may use all slots. */
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

  /** Ends giving out slots. */
  close(): void {
    this.#closed = true;
  }

  /** True: a slot is taken. False: the taker's turn will come. */
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

  /** A taker with `slots` slots has become slow, or is no longer slow. */
  moved(slots: number, isSlow: boolean): void {
    this.#slowTaken += isSlow ? slots : -slots;
  }

  /** Many endpoints can be reached again, and must not get at once what has waited for them. */
  rampUp(): void {
    this.#givenOut = Math.min(this.size, firstSlots);
    this.#reserve();
  }

  /** Not all slots are given out, so what lanes do now does not show what they could do. */
  get isRampingUp(): boolean {
    return this.#givenOut < this.size;
  }

  /**
   * Must be called about once a second.
   * @param takers how many takers have work
   */
  tick(takers: number): void {
    this.#takers = takers;
    this.#givenOut = Math.min(this.size, 2 * this.#givenOut);
    this.#reserve();
    this.#briskBefore = this.#briskNow;
    this.#briskNow = this.#isBriskWaiting;
    this.#serve();
  }

  /** A part of what is given out: a part of all slots may be more than that, and slow takers would get none. */
  #reserve(): void {
    // A taker that is alone leaves nothing to others.
    this.#kept = this.#takers > 1 ? Math.floor(this.#givenOut * keptShare) : 0;
    this.#share = Math.max(1, (this.#givenOut * (1 - keptShare)) / this.#takers);
  }

  #serve(): void {
    // A taker may drop all its jobs and release its slot at once. This loop continues with that slot, because
    // with thousands of such takers, recursion would overflow the stack.
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
    const brisk = this.#firstBrisk();
    const isSlowTurn = brisk === undefined || this.#briskInRow >= briskInRow;
    this.#briskInRow = isSlowTurn ? 0 : this.#briskInRow + 1;
    return isSlowTurn ? (slow ?? brisk) : brisk;
  }

  get #isBriskWaiting(): boolean {
    return this.#briskLines.some(({ size }) => size > 0);
  }

  /** A taker that already waits moves up when it has fewer slots than before. */
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

  #firstBrisk(): SlotTaker | undefined {
    for (const line of this.#briskLines) {
      const first = this.#firstOf(line);
      if (line.size > 0) return first;
    }
    return undefined;
  }

  /** The first taker of a line, if it may take a slot. Those that became slow, or brisk, meanwhile go to their line. */
  #firstOf(line: ReadonlySet<SlotTaker>): SlotTaker | undefined {
    for (const taker of line) {
      if (taker.isSlow === (line === this.#slowLine))
        return this.#mayTake(taker) ? taker : undefined;
      this.#queue(taker);
    }
    return undefined;
  }
}
