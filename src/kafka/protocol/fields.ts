/** A request of one version, and how to read its answer. */
export interface Exchange<T> {
  readonly apiKey: number;
  /** kafkajs's name of the API. */
  readonly apiName: string;
  readonly version: number;
  encode(): { readonly buffer: Buffer };
  /** `throttleMs`: for how long the broker asks for no further requests. */
  decode(bytes: Buffer): T & { readonly throttleMs?: number };
}

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

/**
 * Writes the fields of Kafka's protocol one behind the other, into memory that grows if the first estimate
 * was too small. kafkajs accepts it in the place of its own encoders. @see
 * https://kafka.apache.org/protocol#protocol_types
 */
export class ByteWriter {
  buf: Buffer;
  /** Bytes so far. */
  at = 0;

  constructor(expectedBytes: number) {
    this.buf = Buffer.allocUnsafe(Math.max(expectedBytes, 16));
  }

  get buffer(): Buffer {
    return this.buf.subarray(0, this.at);
  }

  /** Called by kafkajs. */
  size(): number {
    return this.at;
  }

  int8(value: number): this {
    this.#makeRoom(1);
    this.at = this.buf.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.#makeRoom(2);
    this.at = this.buf.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.#makeRoom(4);
    this.at = this.buf.writeInt32BE(value, this.at);
    return this;
  }

  /** Writes a safe integer. */
  int64(value: number): this {
    this.#makeRoom(8);
    this.at = this.buf.writeInt32BE(Math.floor(value / 2 ** 32), this.at);
    this.at = this.buf.writeUInt32BE(value >>> 0, this.at);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  /** Seven bits a byte, the lowest first. */
  uvarint(value: number): this {
    this.#makeRoom(5);
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.buf[this.at++] = (rest % 0x80) | 0x80;
    this.buf[this.at++] = rest;
    return this;
  }

  /** Thirty-two hexadecimal digits. */
  uuid(value: string): this {
    return this.bytes(Buffer.from(value, 'hex'));
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    const length = Buffer.byteLength(value);
    this.int16(length).#makeRoom(length);
    this.at += this.buf.write(value, this.at);
    return this;
  }

  compactString(value: string | null): this {
    if (value === null) return this.uvarint(0);
    const length = Buffer.byteLength(value);
    this.uvarint(length + 1).#makeRoom(length);
    this.at += this.buf.write(value, this.at);
    return this;
  }

  bytes(value: Buffer): this {
    this.#makeRoom(value.length);
    this.at += value.copy(this.buf, this.at);
    return this;
  }

  array<T>(items: readonly T[], write: (item: T) => void): this {
    this.int32(items.length);
    for (const item of items) write(item);
    return this;
  }

  compactArray<T>(items: readonly T[], write: (item: T) => void): this {
    this.uvarint(items.length + 1);
    for (const item of items) write(item);
    return this;
  }

  /** Ends a structure of a flexible version without tags. */
  noTags(): this {
    return this.uvarint(0);
  }

  #makeRoom(bytes: number): void {
    const neededBytes = this.at + bytes;
    if (neededBytes <= this.buf.length) return;
    const larger = Buffer.allocUnsafe(Math.max(neededBytes, 2 * this.buf.length));
    this.buf.copy(larger, 0, 0, this.at);
    this.buf = larger;
  }
}

/** The bytes that `string` writes. */
export function stringBytes(value: string | null): number {
  return 2 + (value === null ? 0 : Buffer.byteLength(value));
}
