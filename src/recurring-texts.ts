const places = 64;
const longestBytes = 128;

/**
 * A cache of UTF-8 texts as strings, where the same few come again and again. A text's place follows from its length and
 * last byte; a later text with the same place replaces it.
 */
export class RecurringTexts {
  readonly #strings = Array<string>(places).fill('');
  readonly #bytesOf = Array<Uint8Array>(places).fill(new Uint8Array());

  /** The text between the two positions. */
  between(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length === 0) return '';
    const place = (length * 7 + (bytes[to - 1] ?? 0)) % places;
    const known = this.#bytesOf[place];
    if (known?.length === length && areEqual(known, bytes, from)) return this.#strings[place] ?? '';
    const text = bytes.toString('utf8', from, to);
    if (length <= longestBytes) {
      this.#strings[place] = text;
      this.#bytesOf[place] = Uint8Array.from(bytes.subarray(from, to));
    }
    return text;
  }
}

/** A loop, because for a few dozen bytes, calling Buffer.compare alone costs more. */
function areEqual(known: Uint8Array, bytes: Buffer, from: number): boolean {
  for (let i = 0; i < known.length; i += 1) if (known[i] !== bytes[from + i]) return false;
  return true;
}
