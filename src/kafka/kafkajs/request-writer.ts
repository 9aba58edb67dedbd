/** Writes a request into a buffer of its size. kafkajs takes it for one of its encoders. */
export class RequestWriter {
  readonly buf: Buffer;
  /** Bytes so far. */
  at = 0;

  /** Throws a RangeError when more is written. */
  constructor(bytes: number) {
    this.buf = Buffer.allocUnsafe(bytes);
  }

  get buffer(): Buffer {
    return this.buf.subarray(0, this.at);
  }

  size(): number {
    return this.at;
  }

  int8(value: number): this {
    this.at = this.buf.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.at = this.buf.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.at = this.buf.writeInt32BE(value, this.at);
    return this;
  }

  /** Of a safe integer. */
  int64(value: number): this {
    this.at = this.buf.writeInt32BE(Math.floor(value / 2 ** 32), this.at);
    this.at = this.buf.writeUInt32BE(value >>> 0, this.at);
    return this;
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    this.int16(Buffer.byteLength(value));
    this.at += this.buf.write(value, this.at);
    return this;
  }

  bytes(value: Buffer): this {
    if (value.length > this.buf.length - this.at) throw new RangeError('a request is too long');
    this.at += value.copy(this.buf, this.at);
    return this;
  }
}

/** What `string` writes. */
export function stringBytes(value: string | null): number {
  return 2 + (value === null ? 0 : Buffer.byteLength(value));
}
