import { hash } from 'node:crypto';

/** Words of one entry: 32 bits of a cheap hash, and 96 bits of SHA-256. */
const wordsPerEntry = 4;
const leastCapacity = 16;
/** Fuller tables have long chains. At this load, entries of 24 bytes take 32 to 64 bytes for each user. */
const mostLoad = 0.75;

/**
 * The times at which users were deleted, by source. Keeps 128 bits of hash for each user instead of
 * the id, in two arrays: ids may be long, and a million small objects would cost the garbage
 * collector more than their content. Somebody who chooses an id can choose its cheap bits, but
 * cannot match 96 bits of another id's SHA-256.
 */
export class DeletedUsers {
  readonly #keptMs: number;
  #words = new Uint32Array(leastCapacity * wordsPerEntry);
  /** 0: the place is free. -Infinity: the deletion was taken back. */
  #timesMs = new Float64Array(leastCapacity);
  #size = 0;

  /** @param keptMs older entries may be dropped when room is needed */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** Sources and users; dropped entries and deletions that were taken back count until room is needed. */
  get size(): number {
    return this.#size;
  }

  /** Memory of the table. */
  get bytes(): number {
    return this.#words.byteLength + this.#timesMs.byteLength;
  }

  /**
   * The latest deletion counts, in whatever order they come.
   * @param key `<sourceId>:<userId>`
   * @param timeMs epoch milliseconds
   */
  add(key: Buffer, timeMs: number): void {
    if (this.#size >= this.#timesMs.length * mostLoad) this.#makeRoom(timeMs - this.#keptMs);
    const digest = digestOf(key);
    const cheap = cheapHash(key);
    const place = this.#find(cheap, () => digest);
    const beforeMs = this.#timesMs[place] ?? 0;
    if (beforeMs === 0) {
      this.#size += 1;
      this.#words.set([cheap, ...digest], place * wordsPerEntry);
    }
    this.#timesMs[place] = Math.max(beforeMs, timeMs);
  }

  /** The deletion is taken back. */
  remove(key: Buffer): void {
    const place = this.#find(cheapHash(key), () => digestOf(key));
    if (this.#timesMs[place] !== 0) this.#timesMs[place] = -Infinity;
  }

  /**
   * The time of a user's deletion, in epoch milliseconds; -Infinity if the user was not deleted.
   * @param bytes contain the user's id from `start` on
   */
  timeMs(sourceId: string, bytes: Buffer, start: number): number {
    const place = this.#find(cheapHash(bytes, start, hashOfSource(sourceId)), () =>
      digestOf(Buffer.concat([Buffer.from(`${sourceId}:`), bytes.subarray(start)])),
    );
    const timeMs = this.#timesMs[place] ?? 0;
    return timeMs === 0 ? -Infinity : timeMs;
  }

  /**
   * The place of an entry, or the free one where it would be. The digest is computed only if the cheap hash
   * matches.
   */
  #find(cheap: number, digest: () => Digest): number {
    const mask = this.#timesMs.length - 1;
    let known: Digest | undefined;
    for (let place = cheap & mask; ; place = (place + 1) & mask) {
      if (this.#timesMs[place] === 0) return place;
      const word = place * wordsPerEntry;
      if (this.#words[word] !== cheap) continue;
      const [a, b, c] = (known ??= digest());
      const words = this.#words;
      if (words[word + 1] === a && words[word + 2] === b && words[word + 3] === c) return place;
    }
  }

  /** Doubles the table, unless enough places hold entries that are no longer needed. */
  #makeRoom(sinceMs: number): void {
    const words = this.#words;
    const timesMs = this.#timesMs;
    const isKept = (timeMs: number): boolean => timeMs !== 0 && timeMs >= sinceMs;
    this.#size = timesMs.reduce((sum, timeMs) => sum + (isKept(timeMs) ? 1 : 0), 0);
    const isCrowded = this.#size > (timesMs.length * mostLoad) / 2;
    const capacity = isCrowded ? timesMs.length * 2 : timesMs.length;
    this.#words = new Uint32Array(capacity * wordsPerEntry);
    this.#timesMs = new Float64Array(capacity);
    timesMs.forEach((timeMs, from) => {
      if (!isKept(timeMs)) return;
      const word = from * wordsPerEntry;
      const cheap = words[word] ?? 0;
      let place = cheap & (capacity - 1);
      while (this.#timesMs[place] !== 0) place = (place + 1) & (capacity - 1);
      this.#timesMs[place] = timeMs;
      this.#words.set(words.subarray(word, word + wordsPerEntry), place * wordsPerEntry);
    });
  }
}

type Digest = readonly [number, number, number];

function digestOf(key: Buffer): Digest {
  const digest = hash('sha256', key, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8)];
}

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a, 32 bits, with its low bits mixed, because they choose the place. */
function cheapHash(bytes: Buffer, start: number = 0, basis: number = offsetBasis): number {
  let value = basis;
  for (let index = start; index < bytes.length; index += 1)
    value = Math.imul(value ^ (bytes[index] ?? 0), prime);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

/** The hash of `<sourceId>:`, to be continued with the user's id. Ids of sources are ASCII. */
function hashOfSource(sourceId: string): number {
  let value = offsetBasis;
  for (let index = 0; index < sourceId.length; index += 1)
    value = Math.imul(value ^ sourceId.charCodeAt(index), prime);
  return Math.imul(value ^ 0x3a, prime);
}
