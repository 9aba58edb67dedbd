/** Of a lane's slots, for retries at most: a first attempt finds one. */
const retryShare = 0.75;
/** While first attempts wait, one goes after so many retries. */
const retriesInRow = 3;

/** `first-attempts-before`: a retry only where no first attempt waits. */
export type Turn = 'any' | 'first-attempts-before' | 'no-retry';

/** A lane's cap on deliveries in flight, and who may use it. */
export class LaneSlots {
  max: number;
  inFlight = 0;
  /** Fewer than allowed while the endpoint recovers: each answer adds one. */
  #recovering = Infinity;
  #retries = 0;
  #retriesInRow = 0;

  constructor(max: number) {
    this.max = max;
  }

  get areLeft(): boolean {
    return this.inFlight < this.max && this.inFlight < this.#recovering;
  }

  /** Which of what waits may start. */
  get turn(): Turn {
    if (this.#retries >= retryShare * this.max) return 'no-retry';
    return this.#retriesInRow >= retriesInRow ? 'first-attempts-before' : 'any';
  }

  started(isRetry: boolean): void {
    this.inFlight += 1;
    if (isRetry) {
      this.#retries += 1;
      this.#retriesInRow += 1;
    } else this.#retriesInRow = 0;
  }

  ended(isRetry: boolean): void {
    this.inFlight -= 1;
    if (isRetry) this.#retries -= 1;
  }

  answered(): void {
    if (this.#recovering < this.max) this.#recovering += 1;
  }

  /** The endpoint has just come back: it is not hit with everything at once. */
  rampUp(): void {
    this.#recovering = 1;
  }
}

/** How many of a lane's waiting jobs go before one that comes now. */
export function aheadOf(hasReturned: boolean, returned: number, waiting: number): number {
  if (hasReturned) return returned;
  const fresh = waiting - returned;
  return fresh + Math.min(returned, retriesInRow * (fresh + 1));
}
