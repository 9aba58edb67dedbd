/** As much as a window holds of unpacked records. */
const mostBytes = 4 * 1024 * 1024;
/**
 * How much one destination may have, as a part of what is left. However many there are that take their time with
 * theirs, something is left for the next one: one has a fifth of all, and ten have a fourteenth each.
 */
const partOfRest = 0.25;

/**
 * Bytes of a partition's events that were unpacked from bundles and are not done with. The partition's window does not
 * count them, because it counts a bundle in its packed size.
 */
export class UnpackedBytes {
  #all = 0;
  readonly #byDestination = new Map<string, number>();

  get all(): number {
    return this.#all;
  }

  get areTooMany(): boolean {
    return this.#all > mostBytes;
  }

  /** The destination must be done with some of its events before more of them are unpacked. */
  areTooManyOf(destinationId: string): boolean {
    const theirs = this.#byDestination.get(destinationId) ?? 0;
    return theirs > 0 && theirs > partOfRest * (mostBytes - this.#all);
  }

  add(destinationId: string, bytes: number): void {
    this.#all += bytes;
    this.#byDestination.set(destinationId, (this.#byDestination.get(destinationId) ?? 0) + bytes);
  }

  remove(destinationId: string, bytes: number): void {
    this.#all -= bytes;
    const left = (this.#byDestination.get(destinationId) ?? 0) - bytes;
    if (left > 0) this.#byDestination.set(destinationId, left);
    else this.#byDestination.delete(destinationId);
  }
}
