import { RecurringTexts } from '../../recurring-texts.ts';
import type { BatchHeader } from './batch-header.ts';

/** Undefined: the header has no value. */
export type Headers = Readonly<Record<string, Buffer | undefined>>;

export const noHeaders: Headers = Object.freeze({});

/**
 * One record may hold hundreds of thousands of headers in a few compressed bytes, and each would become an
 * object. Both bounds are above those of the router, which adds headers to the records that it rejects.
 */
const mostHeaders = 144;
const mostHeaderBytes = 72 * 1024;

/** The part of a batch that records are relative to. */
type BatchContext = Pick<
  BatchHeader,
  'recordCount' | 'firstOffset' | 'lastOffset' | 'firstTimestampMs' | 'appendedMs'
>;

/** Iterates over the records of a batch of version 2, and has the fields of the current one. */
export class BatchRecords {
  offset: number;
  timestampMs: number = -1;
  key: Buffer | null = null;
  value: Buffer | null = null;
  headers: Headers = noHeaders;
  flaw: string | undefined = undefined;
  /** The size of the whole record as it was written, headers included. */
  sizeBytes = 0;
  /** Unpacked. Code that takes it away between reads has to put the same bytes back. */
  bytes: Buffer;
  readonly #batch: BatchContext;
  #left: number;
  #at = 0;

  constructor(bytes: Buffer, batch: BatchContext) {
    this.bytes = bytes;
    this.offset = batch.firstOffset - 1;
    this.#batch = batch;
    this.#left = batch.recordCount;
  }

  get isDone(): boolean {
    return this.#left === 0;
  }

  /**
   * Moves to the next record that is not before the offset; false: there is none.
   * @throws RangeError when the bytes are not such records
   */
  next(fromOffset: number): boolean {
    while (this.#left > 0) {
      const end = this.#recordEnd();
      this.sizeBytes = end - this.#at;
      // Skips the attributes, of which records have none yet.
      this.#at += 1;
      const timestampDelta = this.#varlong();
      this.#moveTo(this.#batch.firstOffset + this.#varint());
      if (this.offset >= fromOffset) {
        this.timestampMs = this.#batch.appendedMs ?? this.#batch.firstTimestampMs + timestampDelta;
        this.key = this.#bytesBefore(end);
        this.value = this.#bytesBefore(end);
        this.#readHeaders(end);
      }
      if (this.#at > end) throw new RangeError('a record ends before its last field');
      this.#at = end;
      this.#left -= 1;
      if (this.#left === 0 && end !== this.bytes.length)
        throw new RangeError(`${this.bytes.length - end} bytes come behind its last record`);
      if (this.offset >= fromOffset) return true;
    }
    return false;
  }

  #recordEnd(): number {
    const length = this.#varint();
    const end = this.#at + length;
    if (length < 0 || end > this.bytes.length)
      throw new RangeError(`a record of ${length} bytes does not end within it`);
    return end;
  }

  #moveTo(offset: number): void {
    if (offset <= this.offset || offset > this.#batch.lastOffset)
      throw new RangeError(
        `offset ${offset} comes behind ${this.offset}, and ${this.#batch.lastOffset} is its last`,
      );
    this.offset = offset;
  }

  #readHeaders(end: number): void {
    this.flaw = undefined;
    this.headers = noHeaders;
    const count = this.#varint();
    if (count === 0) return;
    if (count < 0) throw new RangeError(`a record has ${count} headers`);
    if (count > mostHeaders) {
      this.flaw = `it has ${count.toLocaleString('en')} headers, and ${mostHeaders} are allowed`;
      return;
    }
    const headerBytes = end - this.#at;
    if (headerBytes > mostHeaderBytes) {
      this.flaw = `its headers have ${headerBytes.toLocaleString('en')} bytes, and ${mostHeaderBytes.toLocaleString('en')} are allowed`;
      return;
    }
    const headers: Record<string, Buffer | undefined> = {};
    for (let left = count; left > 0; left -= 1) {
      const name = this.#nameBefore(end);
      const value = this.#bytesBefore(end) ?? undefined;
      if (name === '__proto__') setOwn(headers, name, value);
      else headers[name] = value;
    }
    this.headers = headers;
  }

  #nameBefore(end: number): string {
    const length = this.#varint();
    const from = this.#at;
    this.#at = fieldEnd(from, length, end);
    return names.between(this.bytes, from, this.#at);
  }

  #bytesBefore(end: number): Buffer | null {
    const length = this.#varint();
    if (length < 0) return null;
    const from = this.#at;
    this.#at = fieldEnd(from, length, end);
    return partOf(this.bytes, from, this.#at);
  }

  /** Zigzag, 32 bits, seven bits a byte, the lowest first. */
  #varint(): number {
    const byte = this.bytes[this.#at++] ?? endless();
    return byte < 0x80 ? (byte >>> 1) ^ -(byte & 1) : this.#varintBehind(byte);
  }

  #varintBehind(first: number): number {
    let rest = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const byte = this.bytes[this.#at++] ?? endless();
      rest |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (rest >>> 1) ^ -(rest & 1);
    }
    return endless();
  }

  /** Reads the same with 64 bits; exact up to 2^52. */
  #varlong(): number {
    let rest = 0;
    for (let factor = 1; factor <= 2 ** 63; factor *= 0x80) {
      const byte = this.bytes[this.#at++] ?? endless();
      rest += (byte & 0x7f) * factor;
      if (byte < 0x80) return rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
    }
    return endless();
  }
}

function fieldEnd(from: number, length: number, recordEnd: number): number {
  const end = from + length;
  if (length < 0 || end > recordEnd)
    throw new RangeError(`a field of ${length} bytes does not end within its record`);
  return end;
}

function endless(): never {
  throw new RangeError('a variable-length number does not end');
}

/** A plain assignment to `__proto__` would set the object's prototype. */
function setOwn(headers: object, name: string, value: Buffer | undefined): void {
  const description = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(headers, name, description);
}

/** The records of a topic have the same few names of headers again and again. */
const names = new RecurringTexts();

/** A slice keeps the whole batch in memory, which may be 64 MB. */
const bulkyBytes = 8 * 1024 * 1024;

export function isBulky(unpacked: Buffer): boolean {
  return unpacked.length > bulkyBytes;
}

/** A slice, or a copy if a slice would keep too much. */
function partOf(unpacked: Buffer, from: number, to: number): Buffer {
  const slice = unpacked.subarray(from, to);
  return isBulky(unpacked) ? Buffer.from(slice) : slice;
}
