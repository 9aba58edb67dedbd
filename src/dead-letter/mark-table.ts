/** The initial size, which doubles when needed. A power of two. */
const firstCapacity = 64;
const freeSlot = -1;

/**
 * The times at which the letters of one partition were sent again, by offset. Columns of numbers with open addressing
 * instead of a map of objects, which would take several times the memory, and on the heap.
 */
export class MarkTable {
  #offsets = emptyColumn(firstCapacity);
  /** The letters' own times; epoch milliseconds. */
  #lettersMs = new Float64Array(firstCapacity);
  #timesMs = new Float64Array(firstCapacity);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The memory that they take. */
  get bytes(): number {
    return 3 * this.#offsets.byteLength;
  }

  /** The latest time of a letter wins. Of two letters at the same offset, the one that is added last does. */
  add(offset: number, letterMs: number, timeMs: number): void {
    if (this.#size * 4 >= this.#offsets.length * 3) this.#rebuild(this.#offsets.length * 2);
    const slot = this.#slotOf(offset);
    const isKnown = this.#offsets[slot] === offset && this.#lettersMs[slot] === letterMs;
    if (isKnown && (this.#timesMs[slot] ?? 0) > timeMs) return;
    if (this.#offsets[slot] === freeSlot) this.#size += 1;
    this.#offsets[slot] = offset;
    this.#lettersMs[slot] = letterMs;
    this.#timesMs[slot] = timeMs;
  }

  /** The time at which the letter of this offset and time was last sent again. */
  timeMsOf(offset: number, letterMs: number): number | undefined {
    const slot = this.#slotOf(offset);
    if (this.#offsets[slot] !== offset || this.#lettersMs[slot] !== letterMs) return undefined;
    return this.#timesMs[slot];
  }

  /** Drops the marks of this offset and of later ones. */
  dropFrom(end: number): void {
    let kept = 0;
    for (const offset of this.#offsets) if (offset !== freeSlot && offset < end) kept += 1;
    let capacity = firstCapacity;
    while (kept * 4 >= capacity * 3) capacity *= 2;
    this.#rebuild(capacity, end);
  }

  #rebuild(capacity: number, end = Infinity): void {
    const [offsets, lettersMs, timesMs] = [this.#offsets, this.#lettersMs, this.#timesMs];
    this.#offsets = emptyColumn(capacity);
    this.#lettersMs = new Float64Array(capacity);
    this.#timesMs = new Float64Array(capacity);
    this.#size = 0;
    offsets.forEach((offset, slot) => {
      if (offset === freeSlot || offset >= end) return;
      const to = this.#slotOf(offset);
      this.#offsets[to] = offset;
      this.#lettersMs[to] = lettersMs[slot] ?? 0;
      this.#timesMs[to] = timesMs[slot] ?? 0;
      this.#size += 1;
    });
  }

  /** The slot of the offset, or a free one for it. */
  #slotOf(offset: number): number {
    const mask = this.#offsets.length - 1;
    // Multiplied by 2^32 divided by the golden ratio, so that offsets at regular distances do not meet.
    const hash = Math.imul(offset | 0, 0x9e3779b1) >>> 0;
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (this.#offsets[slot] !== freeSlot && this.#offsets[slot] !== offset)
      slot = (slot + 1) & mask;
    return slot;
  }
}

function emptyColumn(capacity: number): Float64Array {
  return new Float64Array(capacity).fill(freeSlot);
}
