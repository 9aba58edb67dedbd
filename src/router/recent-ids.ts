/** The data that is kept of a call. */
export interface Seen {
  /** The offset of the id's record. */
  readonly offset: number;
  readonly timeMs: number;
  readonly acknowledged: boolean;
  /** Identifies the call for `acknowledge` and `forget`. */
  readonly ticket: number;
}

/** The initial size, which doubles when needed. Most partitions of a small deployment need no more. */
const firstCapacity = 256;
const wordsPerId = 3;

/** 96 bits that identify a call. */
export interface Hashed {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/**
 * The hashes of one partition's calls; the oldest is dropped first. Arrays of numbers instead of a map
 * of strings, which would take more memory for each call and most of the time in garbage collection.
 */
export class RecentIds {
  readonly #most: number;
  #capacity = firstCapacity;
  /** Tickets count up. Those from `#first` up to `#next` are kept, at their remainder by capacity. */
  #first = 0;
  #next = 0;
  #hashes = new Int32Array(firstCapacity * wordsPerId);
  /** NaN: dropped. */
  #offsets = new Float64Array(firstCapacity);
  #timesMs = new Float64Array(firstCapacity);
  #acknowledged = new Uint8Array(firstCapacity);
  /**
   * Open addressing over twice the capacity: the place of a ticket plus one, or 0. Places that are no longer
   * used stay until the table fills up.
   */
  #index = new Int32Array(firstCapacity * 2);
  #indexed = 0;

  /** `most`: a power of two. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  /** The memory that the ids take. */
  get bytes(): number {
    const arrays = [this.#hashes, this.#offsets, this.#timesMs, this.#acknowledged, this.#index];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  find(hashed: Hashed): Seen | undefined {
    const place = this.#find(hashed);
    if (place === undefined) return undefined;
    return {
      offset: this.#offsets[place] ?? NaN,
      timeMs: this.#timesMs[place] ?? NaN,
      acknowledged: this.#acknowledged[place] === 1,
      ticket: this.#first + ((place - this.#first) & (this.#capacity - 1)),
    };
  }

  /** Adds a call as the newest and not acknowledged, and returns its ticket. Earlier data of it is dropped. */
  add(hashed: Hashed, offset: number, timeMs: number): number {
    const former = this.#find(hashed);
    if (former !== undefined) this.#offsets[former] = NaN;
    if (this.size === this.#capacity) this.#makeRoom();
    const ticket = this.#next;
    const place = ticket & (this.#capacity - 1);
    this.#hashes[place * wordsPerId] = hashed.a;
    this.#hashes[place * wordsPerId + 1] = hashed.b;
    this.#hashes[place * wordsPerId + 2] = hashed.c;
    this.#offsets[place] = offset;
    this.#timesMs[place] = timeMs;
    this.#acknowledged[place] = 0;
    this.#next += 1;
    this.#point(place);
    return ticket;
  }

  acknowledge(ticket: number): void {
    if (ticket >= this.#first) this.#acknowledged[ticket & (this.#capacity - 1)] = 1;
  }

  forget(ticket: number): void {
    if (ticket >= this.#first) this.#offsets[ticket & (this.#capacity - 1)] = NaN;
  }

  /** Drops the ids that are older than `timeMs`. */
  expire(timeMs: number): void {
    while (this.#first < this.#next) {
      const place = this.#first & (this.#capacity - 1);
      if ((this.#timesMs[place] ?? 0) >= timeMs) return;
      this.#first += 1;
    }
  }

  /** True if the next `add` drops the oldest id. */
  get isFull(): boolean {
    return this.size === this.#most;
  }

  #find({ a, b, c }: Hashed): number | undefined {
    const mask = this.#index.length - 1;
    for (let cell = a & mask; ; cell = (cell + 1) & mask) {
      const entry = this.#index[cell] ?? 0;
      if (entry === 0) return undefined;
      const place = entry - 1;
      const at = place * wordsPerId;
      if (this.#hashes[at] !== a || this.#hashes[at + 1] !== b || this.#hashes[at + 2] !== c) {
        continue;
      }
      const isKept = ((place - this.#first) & (this.#capacity - 1)) < this.size;
      if (isKept && !Number.isNaN(this.#offsets[place])) return place;
    }
  }

  #point(place: number): void {
    if (this.#indexed * 4 > this.#index.length * 3) {
      this.#reindex();
      return;
    }
    const mask = this.#index.length - 1;
    let cell = (this.#hashes[place * wordsPerId] ?? 0) & mask;
    while (this.#index[cell] !== 0) cell = (cell + 1) & mask;
    this.#index[cell] = place + 1;
    this.#indexed += 1;
  }

  #reindex(): void {
    this.#index.fill(0);
    this.#indexed = 0;
    for (let ticket = this.#first; ticket < this.#next; ticket += 1) {
      const place = ticket & (this.#capacity - 1);
      if (!Number.isNaN(this.#offsets[place])) this.#point(place);
    }
  }

  #makeRoom(): void {
    if (this.#capacity < this.#most) this.#grow();
    else this.#first += 1;
  }

  /** Tickets keep their numbers, and their places change. */
  #grow(): void {
    const formerMask = this.#capacity - 1;
    const hashes = this.#hashes;
    const offsets = this.#offsets;
    const timesMs = this.#timesMs;
    const acknowledged = this.#acknowledged;
    this.#capacity *= 2;
    this.#hashes = new Int32Array(this.#capacity * wordsPerId);
    this.#offsets = new Float64Array(this.#capacity);
    this.#timesMs = new Float64Array(this.#capacity);
    this.#acknowledged = new Uint8Array(this.#capacity);
    for (let ticket = this.#first; ticket < this.#next; ticket += 1) {
      const from = ticket & formerMask;
      const to = ticket & (this.#capacity - 1);
      const words = hashes.subarray(from * wordsPerId, (from + 1) * wordsPerId);
      this.#hashes.set(words, to * wordsPerId);
      this.#offsets[to] = offsets[from] ?? NaN;
      this.#timesMs[to] = timesMs[from] ?? 0;
      this.#acknowledged[to] = acknowledged[from] ?? 0;
    }
    this.#index = new Int32Array(this.#capacity * 2);
    this.#reindex();
  }
}
