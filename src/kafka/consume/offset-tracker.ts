import type { WindowLoad } from './window.ts';

const initialCapacity = 256;

/**
 * The account of one partition: which offsets were accepted, which of them are finished, and how far
 * the finished ones reach without a gap. A ring in offset order, every operation O(1) amortised.
 *
 * A slot is a record's place in the order of acceptance. Offsets have holes (markers, aborted and
 * compacted records), so no arithmetic is done on them.
 */
export class OffsetTracker implements WindowLoad {
  inFlight = 0;
  inFlightBytes = 0;
  readonly #firstOffset: number;
  #nextOffset: number;
  #offsets: Float64Array = new Float64Array(initialCapacity);
  #sizes: Float64Array = new Float64Array(initialCapacity);
  #times: Float64Array = new Float64Array(initialCapacity);
  #finished: Uint8Array = new Uint8Array(initialCapacity);
  #headSlot = 0;
  #nextSlot = 0;

  constructor(nextOffset: number) {
    this.#firstOffset = nextOffset;
    this.#nextOffset = nextOffset;
  }

  /** The offset to read next; everything before it is in flight or finished. */
  get next(): number {
    return this.#nextOffset;
  }

  /** Everything before this offset is finished: what may be committed. */
  get finishedUpTo(): number {
    return this.#headSlot === this.#nextSlot
      ? this.#nextOffset
      : this.#at(this.#offsets, this.#headSlot);
  }

  /** When the oldest record in flight was appended; undefined where none is. */
  get oldestMs(): number | undefined {
    return this.#headSlot === this.#nextSlot ? undefined : this.#at(this.#times, this.#headSlot);
  }

  get span(): number {
    return this.#nextSlot - this.#headSlot;
  }

  /** Takes a record into account and returns its slot; undefined if it already was. */
  add(offset: number, sizeBytes: number, appendTimeMs: number): number | undefined {
    if (offset < this.#nextOffset) return undefined;
    if (this.span === this.#offsets.length) this.#grow();
    const slot = this.#nextSlot++;
    const index = slot & (this.#offsets.length - 1);
    this.#offsets[index] = offset;
    this.#sizes[index] = sizeBytes;
    this.#times[index] = appendTimeMs;
    this.#finished[index] = 0;
    this.#nextOffset = offset + 1;
    this.inFlight += 1;
    this.inFlightBytes += sizeBytes;
    return slot;
  }

  /** Everything before `offset` that was not added does not exist or needs no work: it is finished. */
  skipTo(offset: number): void {
    if (offset > this.#nextOffset) this.#nextOffset = offset;
  }

  /** False if it was finished before. */
  finish(slot: number): boolean {
    const mask = this.#finished.length - 1;
    if (slot < this.#headSlot || slot >= this.#nextSlot || this.#finished[slot & mask] === 1) {
      return false;
    }
    this.#finished[slot & mask] = 1;
    this.inFlight -= 1;
    this.inFlightBytes -= this.#at(this.#sizes, slot);
    while (this.#headSlot < this.#nextSlot && this.#finished[this.#headSlot & mask] === 1) {
      this.#headSlot += 1;
    }
    return true;
  }

  /** Whether this is the offset of a record that was taken into this account and is finished. */
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
    return isHere && this.#finished[slot & (this.#finished.length - 1)] === 1;
  }

  #at(ring: Float64Array, slot: number): number {
    return ring[slot & (ring.length - 1)] ?? NaN;
  }

  #grow(): void {
    const capacity = this.#offsets.length * 2;
    const offsets = new Float64Array(capacity);
    const sizes = new Float64Array(capacity);
    const times = new Float64Array(capacity);
    const finished = new Uint8Array(capacity);
    for (let slot = this.#headSlot; slot < this.#nextSlot; slot += 1) {
      const index = slot & (capacity - 1);
      offsets[index] = this.#at(this.#offsets, slot);
      sizes[index] = this.#at(this.#sizes, slot);
      times[index] = this.#at(this.#times, slot);
      finished[index] = this.#finished[slot & (this.#finished.length - 1)] ?? 0;
    }
    this.#offsets = offsets;
    this.#sizes = sizes;
    this.#times = times;
    this.#finished = finished;
  }
}
