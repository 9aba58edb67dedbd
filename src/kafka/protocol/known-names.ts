/**
 * Cache of header names as strings, because the records of a topic have the same few names again and again. A
 * name's place follows from its length and last byte; a later name with the same place replaces it.
 */
const places = 64;
const longestBytes = 128;

const strings: string[] = Array<string>(places).fill('');
const bytesOf: Uint8Array[] = Array<Uint8Array>(places).fill(new Uint8Array());

/** The UTF-8 between the two positions as a string. */
export function nameIn(bytes: Buffer, from: number, to: number): string {
  const length = to - from;
  if (length === 0) return '';
  const place = (length * 7 + (bytes[to - 1] ?? 0)) % places;
  const known = bytesOf[place];
  if (known?.length === length && areEqual(known, bytes, from)) return strings[place] ?? '';
  const name = bytes.toString('utf8', from, to);
  if (length <= longestBytes) {
    strings[place] = name;
    bytesOf[place] = Uint8Array.from(bytes.subarray(from, to));
  }
  return name;
}

/** A loop, because for a few dozen bytes, calling Buffer.compare alone costs more. */
function areEqual(known: Uint8Array, bytes: Buffer, from: number): boolean {
  for (let i = 0; i < known.length; i += 1) if (known[i] !== bytes[from + i]) return false;
  return true;
}
