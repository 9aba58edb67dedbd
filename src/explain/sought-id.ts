import type { Wanted } from '../kafka/protocol/fetched-records.ts';

/** Every way to write JSON writes these alike. */
const plain = /[\w.:-]+/g;
/** Shorter ones are everywhere. */
const leastCharacters = 4;
/** Longer parts are found sooner, and are cut by LZ4 more often. */
const mostPieceCharacters = 20;

/**
 * How closely stored bytes are looked at: for one end of the id, for the other one, or not at all, because
 * each batch is unpacked. LZ4 tells of an id only what it does not repeat of others, so a look may miss it.
 */
export const looks = ['end', 'beginning', 'thorough'] as const;
export type Look = (typeof looks)[number];

/**
 * A message id in batches, found without reading their records: by the longest part of it that is written
 * the same everywhere.
 */
export class SoughtId implements Wanted {
  readonly #whole: Buffer | undefined;
  /** Undefined: nothing can be told from stored bytes. */
  readonly #piece: Buffer | undefined;
  /** Looked through so far, as it is stored. */
  bytes = 0;

  constructor(id: string, look: Look) {
    const parts = [...id.matchAll(plain)].map(([part]) => part);
    const longest = parts.reduce((most, part) => (part.length > most.length ? part : most), '');
    const isUsable = longest.length >= leastCharacters;
    this.#whole = isUsable ? Buffer.from(longest) : undefined;
    const isLookedAt = isUsable && look !== 'thorough';
    this.#piece = isLookedAt ? Buffer.from(pieceOf(longest, look)) : undefined;
  }

  placesIn(stored: Buffer): readonly number[] | undefined {
    this.bytes += stored.length;
    const piece = this.#piece;
    if (piece === undefined) return undefined;
    const places: number[] = [];
    for (let at = stored.indexOf(piece); at >= 0; at = stored.indexOf(piece, at + 1))
      places.push(at);
    return places;
  }

  mayBeIn(unpacked: Buffer): boolean {
    return this.#whole === undefined || unpacked.includes(this.#whole);
  }
}

/** The end first: ids often begin alike. */
function pieceOf(text: string, end: 'end' | 'beginning'): string {
  const characters = Math.min(mostPieceCharacters, Math.ceil(text.length / 2));
  if (characters < leastCharacters) return text;
  return end === 'end' ? text.slice(-characters) : text.slice(0, characters);
}
