/**
 * Reads the fields of Kafka's protocol one after the other.
 * @throws RangeError if the bytes end before a field does @see
 * https://kafka.apache.org/protocol#protocol_types
 */
export class ByteReader {
  readonly bytes: Buffer;
  /** The place where the next field begins. */
  at: number;

  constructor(bytes: Buffer, at: number = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  int8(): number {
    const value = this.bytes.readInt8(this.at);
    this.at += 1;
    return value;
  }

  int16(): number {
    const value = this.bytes.readInt16BE(this.at);
    this.at += 2;
    return value;
  }

  int32(): number {
    const value = this.bytes.readInt32BE(this.at);
    this.at += 4;
    return value;
  }

  /** Exact up to 2^53, which covers all offsets and times. */
  int64(): number {
    const value = readInt64(this.bytes, this.at);
    this.at += 8;
    return value;
  }

  /** Seven bits a byte, the lowest first. */
  uvarint(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 28; factor *= 0x80) {
      const byte = this.bytes.readUInt8(this.at);
      this.at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a variable-length number has more than five bytes');
  }

  /** Sixteen bytes, as 32 hexadecimal digits. */
  uuid(): string {
    return this.#take(16).toString('hex');
  }

  string(): string {
    return this.#take(this.int16()).toString();
  }

  nullableString(): string | null {
    const length = this.int16();
    return length < 0 ? null : this.#take(length).toString();
  }

  nullableBytes(): Buffer | null {
    const length = this.int32();
    return length < 0 ? null : this.#take(length);
  }

  compactString(): string | null {
    const bytes = this.compactBytes();
    return bytes === null ? null : bytes.toString();
  }

  /** A slice. */
  compactBytes(): Buffer | null {
    const length = this.uvarint() - 1;
    return length < 0 ? null : this.#take(length);
  }

  array<T>(read: () => T): T[] {
    return this.#times(this.int32(), read);
  }

  compactArray<T>(read: () => T): T[] {
    return this.#times(this.uvarint() - 1, read);
  }

  /** Calls `read` with each tag and its bytes. */
  tags(read?: (tag: number, bytes: ByteReader) => void): void {
    for (let left = this.uvarint(); left > 0; left -= 1) {
      const tag = this.uvarint();
      const bytes = this.#take(this.uvarint());
      read?.(tag, new ByteReader(bytes));
    }
  }

  skip(count: number): void {
    this.#take(count);
  }

  #take(length: number): Buffer {
    const end = this.at + length;
    if (length < 0 || end > this.bytes.length)
      throw new RangeError(`a field of ${length} bytes does not end within its answer`);
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  #times<T>(count: number, read: () => T): T[] {
    const items: T[] = [];
    for (let left = count; left > 0; left -= 1) items.push(read());
    return items;
  }
}

/** Exact up to 2^53. */
export function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
