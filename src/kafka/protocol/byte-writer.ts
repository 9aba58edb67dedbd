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
