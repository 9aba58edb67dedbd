/** Memory that is written from its beginning again and again, and grows to the most that it has held. */
export class GrowingBuffer {
  buffer: Buffer;
  /** Bytes written so far. The writer advances it. */
  bytes = 0;

  constructor(initialBytes: number) {
    this.buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Overwritten once `bytes` is reset. */
  get written(): Buffer {
    return this.buffer.subarray(0, this.bytes);
  }

  /** Makes room for so many more bytes; `buffer` may be replaced. */
  makeRoom(bytes: number): void {
    const neededBytes = this.bytes + bytes;
    if (neededBytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(neededBytes, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.bytes);
    this.buffer = larger;
  }
}
