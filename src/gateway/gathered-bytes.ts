/** A chunk that is smaller is copied. */
const largeBytes = 4_096;
const roomBytes = 8_192;

/**
 * The bytes of a body while it comes. Its sender decides how small its chunks are, and each is an object of some 200
 * bytes: small ones are copied together, so that a body takes hardly more memory than its bytes.
 */
export class GatheredBytes {
  length = 0;
  #parts: Buffer[] = [];
  #room: Buffer | undefined;
  #roomUsed = 0;

  add(chunk: Buffer): void {
    const isFirst = this.length === 0;
    this.length += chunk.length;
    // Most bodies are one chunk.
    if (isFirst || chunk.length >= largeBytes) {
      this.#emptyRoom();
      this.#parts.push(chunk);
      return;
    }
    this.#room ??= Buffer.allocUnsafe(roomBytes);
    if (this.#roomUsed + chunk.length > roomBytes) this.#emptyRoom();
    this.#roomUsed += chunk.copy(this.#room, this.#roomUsed);
  }

  /** A single chunk is the view of the socket's buffer that was added. */
  whole(): Buffer {
    this.#emptyRoom();
    const [first] = this.#parts;
    const isWhole = first !== undefined && this.#parts.length === 1;
    return isWhole ? first : Buffer.concat(this.#parts, this.length);
  }

  #emptyRoom(): void {
    if (this.#room === undefined || this.#roomUsed === 0) return;
    this.#parts.push(Buffer.from(this.#room.subarray(0, this.#roomUsed)));
    this.#roomUsed = 0;
  }
}
