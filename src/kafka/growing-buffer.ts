/** Memory that is written from its beginning again and again, and grows to the most that it has held. */
export class GrowingBuffer {
  buffer: Buffer;
  /** Written so far: whoever writes moves it on. */
  bytes = 0;

  constructor(initialBytes: number) {
    this.buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Overwritten once `bytes` is set back. */
  get written(): Buffer {
    return this.buffer.subarray(0, this.bytes);
  }

  /** For so many more; `buffer` may be another one then. */
  makeRoom(bytes: number): void {
    const neededBytes = this.bytes + bytes;
    if (neededBytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(neededBytes, 2 * this.buffer.length));
    this.buffer.copy(larger, 0, 0, this.bytes);
    this.buffer = larger;
  }
}
