import { writable } from '../event/sought.ts';
import type { Wanted } from '../kafka/protocol/fetched-records.ts';

/** Characters that every JSON encoder writes the same way. */
const plain = /[\w.:-]+/g;
/** Shorter texts occur everywhere. */
const leastCharacters = 4;
/** Longer parts are found faster, but LZ4 splits them more often. */
const mostPieceCharacters = 20;

/**
 * Ways to search stored bytes: for one end of the id, for the other one, or not at all, so that each batch is
 * unpacked. LZ4 may replace a part of the id by a reference to another id, so a search of stored bytes can
 * miss it.
 */
export const looks = ['end', 'beginning', 'thorough'] as const;
export type Look = (typeof looks)[number];

/**
 * Searches batches for a message id without reading their records, by the longest part of the id that is
 * always written the same way.
 */
export class SoughtId implements Wanted {
  readonly #whole: Buffer | undefined;
  /** Undefined: stored bytes show nothing. */
  readonly #piece: Buffer | undefined;
  /** Stored bytes that were searched so far. */
  bytes = 0;

  constructor(id: string, look: Look) {
    const parts = [...writable(id).matchAll(plain)].map(([part]) => part);
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

/** The end comes first, because ids often begin alike. */
function pieceOf(text: string, end: 'end' | 'beginning'): string {
  const characters = Math.min(mostPieceCharacters, Math.ceil(text.length / 2));
  if (characters < leastCharacters) return text;
  return end === 'end' ? text.slice(-characters) : text.slice(0, characters);
}
