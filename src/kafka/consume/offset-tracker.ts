import type { WindowLoad } from './window.ts';

/** The offsets that a former owner of the partition finished beyond the one that it committed. */
export interface FinishedAhead {
  /** Everything before this offset is finished, except the offsets below. */
  readonly upTo: number;
  readonly unfinished: ReadonlySet<number>;
}

/** All that is finished according to the one or the other. */
export function eitherOf(one: FinishedAhead, other: FinishedAhead): FinishedAhead {
  const [shorter, longer] = one.upTo < other.upTo ? [one, other] : [other, one];
  const unfinished = [...longer.unfinished].filter(
    (offset) => offset >= shorter.upTo || shorter.unfinished.has(offset),
  );
  return { upTo: longer.upTo, unfinished: new Set(unfinished) };
}

const inFlight = 0;
const finished = 1;
const released = 2;
const setAside = 3;

const initialCapacity = 256;

/**
 * The account of one partition: which offsets were taken, which of them are finished, and how far the
 * finished ones reach without a gap. A ring in offset order, with every operation O(1) amortized.
 *
 * A slot is a record's place in the order of acceptance. Offsets have holes (markers, aborted and compacted
 * records), so no arithmetic is done on them.
 */
export class OffsetTracker implements WindowLoad {
  inFlight = 0;
  inFlightBytes = 0;
  aside = 0;
  asideBytes = 0;
  readonly #firstOffset: number;
  #nextOffset: number;
  #offsets: Float64Array = new Float64Array(initialCapacity);
  #sizes: Float64Array = new Float64Array(initialCapacity);
  #times: Float64Array = new Float64Array(initialCapacity);
  /** The state of each slot: in flight, set aside, finished or released. */
  #states: Uint8Array = new Uint8Array(initialCapacity);
  #headSlot = 0;
  #nextSlot = 0;
  /** Undefined once everything in it has been passed. */
  #ahead: FinishedAhead | undefined;
  /** The append time of the last record that was added; undefined before the first. */
  newestMs: number | undefined;
  /** The number of records that have been finished: it tells whether there is something new to commit. */
  finishes = 0;

  constructor(nextOffset: number, ahead?: FinishedAhead) {
    this.#firstOffset = nextOffset;
    this.#nextOffset = nextOffset;
    this.#ahead = ahead;
  }

  /** The offset to read next. Everything before it is in flight or finished. */
  get next(): number {
    return this.#nextOffset;
  }

  /** Everything before this offset is finished, so it may be committed. */
  get finishedUpTo(): number {
    return this.#headSlot === this.#nextSlot
      ? this.#nextOffset
      : this.#at(this.#offsets, this.#headSlot);
  }

  /** The append time of the oldest record in flight; undefined if none is in flight. */
  get oldestMs(): number | undefined {
    return this.#headSlot === this.#nextSlot ? undefined : this.#at(this.#times, this.#headSlot);
  }

  /** The number of records in flight that were appended before then. */
  inFlightBefore(timeMs: number): number {
    let count = 0;
    for (let slot = this.#headSlot; slot < this.#nextSlot; slot += 1) {
      if (this.#at(this.#times, slot) >= timeMs) break;
      if (this.#isInFlight(slot)) count += 1;
    }
    return count;
  }

  get span(): number {
    return this.#nextSlot - this.#headSlot;
  }

  /**
   * Takes a record into account and returns its slot; undefined if the record is already accounted for, or
   * finished.
   */
  add(offset: number, sizeBytes: number, appendTimeMs: number): number | undefined {
    if (offset < this.#nextOffset) return undefined;
    if (this.#ahead !== undefined && this.#isFinishedAhead(this.#ahead, offset)) {
      this.#nextOffset = offset + 1;
      return undefined;
    }
    if (this.span === this.#offsets.length) this.#grow();
    const slot = this.#nextSlot++;
    const index = slot & (this.#offsets.length - 1);
    this.#offsets[index] = offset;
    this.#sizes[index] = sizeBytes;
    this.#times[index] = appendTimeMs;
    this.newestMs = appendTimeMs;
    this.#states[index] = inFlight;
    this.#nextOffset = offset + 1;
    this.inFlight += 1;
    this.inFlightBytes += sizeBytes;
    return slot;
  }

  /** Keeps only this of what former owners finished: the rest is no longer in the log. */
  replaceAhead(ahead: FinishedAhead | undefined): void {
    this.#ahead = ahead;
  }

  /**
   * Everything before `offset` that was not added does not exist or needs no work, so it counts as finished.
   */
  skipTo(offset: number): void {
    if (offset > this.#nextOffset) this.#nextOffset = offset;
  }

  /** Returns false if the record was finished or released before. */
  finish(slot: number): boolean {
    if (!this.#settle(slot, finished)) return false;
    this.finishes += 1;
    this.#moveHead();
    return true;
  }

  /**
   * Ends a record that is not finished, so the finished prefix does not pass it. Returns false if it was
   * settled before.
   */
  release(slot: number): boolean {
    return this.#settle(slot, released);
  }

  /**
   * A record in flight waits for others than this process, and leaves its room in the window. Returns false if it was
   * settled or set aside before.
   */
  setAside(slot: number): boolean {
    const index = slot & (this.#states.length - 1);
    if (slot < this.#headSlot || slot >= this.#nextSlot || this.#states[index] !== inFlight)
      return false;
    this.#states[index] = setAside;
    this.aside += 1;
    this.asideBytes += this.#at(this.#sizes, slot);
    return true;
  }

  /** The log was cut off at this offset, so records behind it need no work. */
  cutOff(offset: number): void {
    const mask = this.#states.length - 1;
    for (let slot = this.#nextSlot - 1; slot >= this.#headSlot; slot -= 1) {
      if (this.#at(this.#offsets, slot) < offset) break;
      this.#settle(slot, finished);
      this.#states[slot & mask] = finished;
      this.#offsets[slot & mask] = offset;
    }
    this.#nextOffset = Math.min(this.#nextOffset, offset);
    this.#ahead = undefined;
    this.#moveHead();
  }

  /**
   * The offsets that are finished beyond the finished prefix; undefined: none.
   * @param mostGaps bound on the unfinished offsets that are listed
   */
  finishedAhead(mostGaps: number): FinishedAhead | undefined {
    const unfinished = new Set<number>();
    let upTo = this.#nextOffset;
    for (let slot = this.#headSlot; slot < this.#nextSlot; slot += 1) {
      if (this.#states[slot & (this.#states.length - 1)] === finished) continue;
      const offset = this.#at(this.#offsets, slot);
      if (unfinished.size === mostGaps) {
        upTo = offset;
        break;
      }
      unfinished.add(offset);
    }
    const isWhole = upTo === this.#nextOffset;
    if (isWhole && this.#ahead !== undefined && this.#ahead.upTo > upTo) {
      upTo = this.#ahead.upTo;
      for (const offset of this.#ahead.unfinished)
        if (offset >= this.#nextOffset) unfinished.add(offset);
    }
    // If everything up to there is unfinished, the list adds nothing to the prefix.
    return upTo - this.finishedUpTo > unfinished.size ? { upTo, unfinished } : undefined;
  }

  /**
   * The finished offsets from this one on; undefined: none, or what lies between is not known here.
   */
  finishedFrom(offset: number): FinishedAhead | undefined {
    if (offset < this.#firstOffset) return undefined;
    const known = this.finishedAhead(Infinity) ?? {
      upTo: this.finishedUpTo,
      unfinished: new Set<number>(),
    };
    return known.upTo > offset ? known : undefined;
  }

  /** Tells whether this is the offset of a record that was taken into this account and is finished. */
  hasFinished(offset: number): boolean {
    if (offset < this.#firstOffset || offset >= this.#nextOffset) return false;
    if (offset < this.finishedUpTo) return true;
    let slot = this.#headSlot;
    for (let end = this.#nextSlot; slot < end;) {
      const middle = Math.floor((slot + end) / 2);
      if (this.#at(this.#offsets, middle) < offset) slot = middle + 1;
      else end = middle;
    }
    const isHere = slot < this.#nextSlot && this.#at(this.#offsets, slot) === offset;
    return isHere && this.#states[slot & (this.#states.length - 1)] === finished;
  }

  #moveHead(): void {
    const mask = this.#states.length - 1;
    while (this.#headSlot < this.#nextSlot && this.#states[this.#headSlot & mask] === finished) {
      this.#headSlot += 1;
    }
  }

  #settle(slot: number, state: number): boolean {
    if (slot < this.#headSlot || slot >= this.#nextSlot || !this.#isInFlight(slot)) return false;
    const index = slot & (this.#states.length - 1);
    const sizeBytes = this.#at(this.#sizes, slot);
    if (this.#states[index] === setAside) {
      this.aside -= 1;
      this.asideBytes -= sizeBytes;
    }
    this.#states[index] = state;
    this.inFlight -= 1;
    this.inFlightBytes -= sizeBytes;
    return true;
  }

  #isInFlight(slot: number): boolean {
    const state = this.#states[slot & (this.#states.length - 1)];
    return state === inFlight || state === setAside;
  }

  #isFinishedAhead({ upTo, unfinished }: FinishedAhead, offset: number): boolean {
    if (offset < upTo) return !unfinished.has(offset);
    this.#ahead = undefined;
    return false;
  }

  #at(ring: Float64Array, slot: number): number {
    return ring[slot & (ring.length - 1)] ?? NaN;
  }

  #grow(): void {
    const capacity = this.#offsets.length * 2;
    const offsets = new Float64Array(capacity);
    const sizes = new Float64Array(capacity);
    const times = new Float64Array(capacity);
    const states = new Uint8Array(capacity);
    for (let slot = this.#headSlot; slot < this.#nextSlot; slot += 1) {
      const index = slot & (capacity - 1);
      offsets[index] = this.#at(this.#offsets, slot);
      sizes[index] = this.#at(this.#sizes, slot);
      times[index] = this.#at(this.#times, slot);
      states[index] = this.#states[slot & (this.#states.length - 1)] ?? inFlight;
    }
    this.#offsets = offsets;
    this.#sizes = sizes;
    this.#times = times;
    this.#states = states;
  }
}
