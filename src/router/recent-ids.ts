import { randomBytes } from 'node:crypto';

/** What is kept of a call. */
export interface Seen {
  /** Of its record. */
  readonly offset: number;
  readonly timeMs: number;
  readonly acknowledged: boolean;
  /** Names it to `acknowledge` and `forget`. */
  readonly ticket: number;
}

/** Grows by doubling from here: most partitions of a small deployment never need more. */
const firstCapacity = 256;
const wordsPerId = 3;

/**
 * The message ids of one partition's calls, oldest first out. A map of strings would take 130 bytes an id
 * and a microsecond a call, most of it for the garbage collector; these are arrays of numbers. An id is
 * known by 96 bits of a hash that is seeded anew in every process: at 10,000 calls a second, a call
 * would be taken for another one once in 10^16 years.
 */
export class RecentIds {
  readonly #most: number;
  #capacity = firstCapacity;
  /** Tickets count up; the ones from `#first` up to `#next` are kept, at their remainder by capacity. */
  #first = 0;
  #next = 0;
  #hashes = new Int32Array(firstCapacity * wordsPerId);
  /** NaN: forgotten. */
  #offsets = new Float64Array(firstCapacity);
  #timesMs = new Float64Array(firstCapacity);
  #acknowledged = new Uint8Array(firstCapacity);
  /** Open addressing over twice the capacity: the place of a ticket plus one, or 0. Places that have left stay until it fills up. */
  #index = new Int32Array(firstCapacity * 2);
  #indexed = 0;
  readonly #hash = new IdHash();

  /** `most`: a power of two. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  /** What memory they take. */
  get bytes(): number {
    const arrays = [this.#hashes, this.#offsets, this.#timesMs, this.#acknowledged, this.#index];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  find(sourceId: string, messageId: string): Seen | undefined {
    this.#hash.of(sourceId, messageId);
    const place = this.#find();
    if (place === undefined) return undefined;
    return {
      offset: this.#offsets[place] ?? NaN,
      timeMs: this.#timesMs[place] ?? NaN,
      acknowledged: this.#acknowledged[place] === 1,
      ticket: this.#first + ((place - this.#first) & (this.#capacity - 1)),
    };
  }

  /**
   * Keeps the id that `find` was last asked for as the newest, not acknowledged, and returns its ticket.
   * What was kept of it before is forgotten.
   */
  add(offset: number, timeMs: number): number {
    const former = this.#find();
    if (former !== undefined) this.#offsets[former] = NaN;
    if (this.size === this.#capacity) this.#makeRoom();
    const ticket = this.#next;
    const place = ticket & (this.#capacity - 1);
    this.#hashes[place * wordsPerId] = this.#hash.a;
    this.#hashes[place * wordsPerId + 1] = this.#hash.b;
    this.#hashes[place * wordsPerId + 2] = this.#hash.c;
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

  /** Lets those go that are older than `timeMs`. */
  expire(timeMs: number): void {
    while (this.#first < this.#next) {
      const place = this.#first & (this.#capacity - 1);
      if ((this.#timesMs[place] ?? 0) >= timeMs) return;
      this.#first += 1;
    }
  }

  /** Whether the next `add` pushes the oldest out. */
  get isFull(): boolean {
    return this.size === this.#most;
  }

  #find(): number | undefined {
    const mask = this.#index.length - 1;
    const { a, b, c } = this.#hash;
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

  /** Tickets stay what they are; their places change. */
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

const seeds = new Int32Array(randomBytes(wordsPerId * 4).buffer.slice(0, wordsPerId * 4));

/** Three multiplicative hashes side by side, mixed at the end; fields instead of a result, which would be garbage. */
class IdHash {
  a = 0;
  b = 0;
  c = 0;

  of(sourceId: string, messageId: string): void {
    this.a = seeds[0] ?? 0;
    this.b = seeds[1] ?? 0;
    this.c = seeds[2] ?? 0;
    this.#add(sourceId);
    this.#add(messageId);
    const { a, b, c } = this;
    this.a = mix(a ^ (b >>> 16) ^ (c << 7));
    this.b = mix(b ^ (c >>> 15) ^ (a << 9));
    this.c = mix(c ^ (a >>> 14) ^ (b << 5));
  }

  /** Two characters a step. */
  #add(text: string): void {
    let { a, b, c } = this;
    for (let i = 0; i < text.length; i += 2) {
      // The code after the last one is NaN, which the shift makes 0: the length tells such texts apart.
      const codes = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16);
      a = Math.imul(a ^ codes, 0x85ebca6b);
      a ^= a >>> 15;
      b = Math.imul(b + codes, 0xc2b2ae35);
      b ^= b >>> 13;
      c = Math.imul(c ^ codes, 0x27d4eb2f) + codes;
      c = (c << 11) | (c >>> 21);
    }
    this.a = a;
    this.b = b;
    this.c = c | 0;
    this.#addNumber(text.length);
  }

  #addNumber(number: number): void {
    this.a = Math.imul(this.a ^ number, 0x85ebca6b);
    this.b = Math.imul(this.b + number, 0xc2b2ae35);
    this.c = Math.imul(this.c ^ number, 0x27d4eb2f);
  }
}

/** The finaliser of MurmurHash3: every bit of its argument changes every bit of its result. */
function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
