import { isUtf8 } from 'node:buffer';
import { misfit, Output } from './output.ts';

/** From this length on, decoding a text at once is faster than checking each of its bytes. */
const longText = 48;
const twoTo27 = 2 ** 27;

/** Reads Avro's binary encoding from the front to the end. */
export class AvroInput {
  readonly #bytes: Buffer;
  /** Slicing one text is faster than making a text of each part. */
  readonly #latin1: string;
  #at = 0;
  readonly output: Output;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#latin1 = bytes.toString('latin1');
    this.output = new Output(bytes.length);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** An int or a long, as decimal text if a double cannot hold it exactly. */
  integer(): number | string {
    const start = this.#at;
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (low >>> 1) ^ -(low & 1);
    }
    let high = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      high |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      // Zigzag over 28 + 28 bits, in doubles: exact below 2^53.
      const half = (low >>> 1) + (high & 0x3ffffff) * twoTo27;
      // One further down the value is -2^53, which is not safe.
      if (high > 0x3ffffff || half === Number.MAX_SAFE_INTEGER) break;
      return (low & 1) === 0 ? half : -half - 1;
    }
    this.#at = start;
    return this.#long();
  }

  /** A length, a count or an index, which never have more bits. */
  count(): number {
    const value = this.integer();
    if (typeof value !== 'number') throw misfit('A length is out of range.');
    return value;
  }

  text(): string {
    const bytes = this.#bytes;
    const length = this.#length();
    const from = this.#at;
    const to = from + length;
    this.#at = to;
    if (length > longText) return this.#utf8(from, to);
    for (let i = from; i < to; i += 1) {
      if ((bytes[i] ?? 0) >= 0x80) return this.#utf8(from, to);
    }
    return this.#latin1.substring(from, to);
  }

  /** The bytes need a check only if the text contains a replacement character. */
  #utf8(from: number, to: number): string {
    const text = this.#bytes.toString('utf8', from, to);
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(from, to))) {
      throw misfit('A text is not UTF-8.');
    }
    return text;
  }

  /**
   * A text that is likely to be `expected`. If it is, returns that same string, which the engine knows as a
   * key, and allocates nothing.
   */
  key(expected: string | undefined): string {
    const start = this.#at;
    if (expected === undefined || this.#length() !== expected.length) return this.#textFrom(start);
    const from = this.#at;
    for (let i = 0; i < expected.length; i += 1) {
      const code = this.#bytes[from + i];
      if (code !== expected.charCodeAt(i) || code >= 0x80) return this.#textFrom(start);
    }
    this.#at = from + expected.length;
    return expected;
  }

  #textFrom(start: number): string {
    this.#at = start;
    return this.text();
  }

  bytes(): Buffer {
    return this.take(this.#length());
  }

  take(length: number): Buffer {
    if (length > this.left) throw truncated();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  boolean(): boolean {
    const byte = this.#byte();
    if (byte > 1) throw misfit('A boolean is neither 0 nor 1.');
    return byte === 1;
  }

  float(): number {
    return shortest(this.take(4).readFloatLE(0));
  }

  double(): number {
    if (this.left < 8) throw truncated();
    this.#at += 8;
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw truncated();
    this.#at += 1;
    return byte;
  }

  #length(): number {
    const length = this.count();
    if (length < 0) throw misfit('A length is negative.');
    if (length > this.left) throw truncated();
    return length;
  }

  #long(): number | string {
    let zigzag = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      zigzag |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return exact(BigInt.asIntN(64, (zigzag >> 1n) ^ -(zigzag & 1n)));
    }
    throw misfit('An integer has more than 64 bits.');
  }
}

/** Enough for every number of 32 bits, and the fewest with which two of them can differ. */
const [mostDigits, fewestDigits] = [9, 6];

/**
 * A number of 32 bits as it was written: 0.1 and not 0.10000000149011612, which is the nearest number of 64 bits.
 */
export function shortest(float: number): number {
  if (Number.isSafeInteger(float) || !Number.isFinite(float)) return float;
  for (let digits = fewestDigits; digits < mostDigits; digits += 1) {
    const short = Number(float.toPrecision(digits));
    if (Math.fround(short) === float) return short;
  }
  return Number(float.toPrecision(mostDigits));
}

/** A number if a double can hold it exactly, otherwise decimal text. */
export function exact(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function truncated(): Error {
  return misfit('The value ends before what its schema asks for.');
}
