import type { Holding, WindowLimits } from '../../kafka/consume/window.ts';

/** The bytes that a window holds of unpacked records. */
const mostBytes = 4 * 1024 * 1024;
/** Limits for events of a kilobyte; the number of smaller ones counts. */
const limits: WindowLimits = { records: 4_096, bytes: mostBytes };
/**
 * The part of what is left that one destination may have. However many there are that take their time with
 * theirs, something is left for the next one: one has a fifth of all, and ten have a fourteenth each.
 */
const partOfRest = 0.25;

/**
 * Bytes of a partition's events that were unpacked from bundles and are not done with. The partition's window does not
 * count them, because it counts a bundle in its packed size.
 */
export class UnpackedBytes implements Holding {
  /** Events, which take memory as records do. */
  inFlight = 0;
  inFlightBytes = 0;
  readonly aside = 0;
  readonly asideBytes = 0;
  readonly limits: WindowLimits = limits;
  readonly #byDestination = new Map<string, number>();
  readonly #share: () => number;

  /** @param share the part of the limits that may be used now */
  constructor(share: () => number) {
    this.#share = share;
  }

  get areTooMany(): boolean {
    const share = this.#share();
    return this.inFlightBytes > mostBytes * share || this.inFlight > limits.records * share;
  }

  /** The destination must be done with some of its events before more of them are unpacked. */
  areTooManyOf(destinationId: string): boolean {
    const theirs = this.#byDestination.get(destinationId) ?? 0;
    return theirs > 0 && theirs > partOfRest * (mostBytes * this.#share() - this.inFlightBytes);
  }

  add(destinationId: string, events: number, bytes: number): void {
    this.inFlight += events;
    this.inFlightBytes += bytes;
    this.#byDestination.set(destinationId, (this.#byDestination.get(destinationId) ?? 0) + bytes);
  }

  remove(destinationId: string, events: number, bytes: number): void {
    this.inFlight -= events;
    this.inFlightBytes -= bytes;
    const left = (this.#byDestination.get(destinationId) ?? 0) - bytes;
    if (left > 0) this.#byDestination.set(destinationId, left);
    else this.#byDestination.delete(destinationId);
  }
}
