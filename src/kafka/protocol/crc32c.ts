import { endianness } from 'node:os';

/** Castagnoli's polynomial, its bits reversed, as in iSCSI. */
const polynomial = 0x82f63b78;

/**
 * A table for each of the sixteen bytes that are processed at a time: the effect of a byte with so many bytes
 * behind it. Constants of the module, because V8 then knows their length and omits bounds checks.
 */
const t0: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ polynomial;
  return sum;
});
const t1 = withOneMoreByteBehind(t0);
const t2 = withOneMoreByteBehind(t1);
const t3 = withOneMoreByteBehind(t2);
const t4 = withOneMoreByteBehind(t3);
const t5 = withOneMoreByteBehind(t4);
const t6 = withOneMoreByteBehind(t5);
const t7 = withOneMoreByteBehind(t6);
const t8 = withOneMoreByteBehind(t7);
const t9 = withOneMoreByteBehind(t8);
const t10 = withOneMoreByteBehind(t9);
const t11 = withOneMoreByteBehind(t10);
const t12 = withOneMoreByteBehind(t11);
const t13 = withOneMoreByteBehind(t12);
const t14 = withOneMoreByteBehind(t13);
const t15 = withOneMoreByteBehind(t14);

function withOneMoreByteBehind(table: Int32Array): Int32Array {
  return table.map((sum) => (sum >>> 8) ^ at(t0, sum));
}

/** The entry for the lowest eight bits. */
function at(table: Int32Array, bits: number): number {
  return table[bits & 0xff] ?? 0;
}

/** Words are read in the processor's byte order, and the algorithm needs the first byte lowest. */
const canReadWords = endianness() === 'LE';
const wordsFromBytes = 32;

/**
 * The checksum of record batches, CRC-32C, from 0 to 2^32 - 1. zlib has only the other CRC-32. @see
 * https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4 for examples
 */
export function crc32c(bytes: Uint8Array): number {
  const { length } = bytes;
  if (!canReadWords || length < wordsFromBytes) return ~addBytes(-1, bytes, 0, length) >>> 0;
  // Words begin at multiples of four in memory.
  const wordsStart = -bytes.byteOffset & 3;
  const words = new Int32Array(
    bytes.buffer,
    bytes.byteOffset + wordsStart,
    (length - wordsStart) >>> 2,
  );
  let sum = addBytes(-1, bytes, 0, wordsStart);
  let next = 0;
  for (const end = words.length - 3; next < end; next += 4) {
    const a = word(words, next) ^ sum;
    const b = word(words, next + 1);
    const c = word(words, next + 2);
    const d = word(words, next + 3);
    sum = at(t15, a) ^ at(t14, a >>> 8) ^ at(t13, a >>> 16) ^ at(t12, a >>> 24);
    sum ^= at(t11, b) ^ at(t10, b >>> 8) ^ at(t9, b >>> 16) ^ at(t8, b >>> 24);
    sum ^= at(t7, c) ^ at(t6, c >>> 8) ^ at(t5, c >>> 16) ^ at(t4, c >>> 24);
    sum ^= at(t3, d) ^ at(t2, d >>> 8) ^ at(t1, d >>> 16) ^ at(t0, d >>> 24);
  }
  return ~addBytes(sum, bytes, wordsStart + next * 4, length) >>> 0;
}

function word(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}

function addBytes(before: number, bytes: Uint8Array, from: number, to: number): number {
  let sum = before;
  for (let i = from; i < to; i += 1) sum = (sum >>> 8) ^ at(t0, sum ^ (bytes[i] ?? 0));
  return sum;
}

/** @throws RangeError with both checksums if they differ */
export function compareChecksums(stated: number, actual: number): void {
  if (stated !== actual)
    throw new RangeError(`its checksum is ${hex(stated)}, but that of its bytes is ${hex(actual)}`);
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
