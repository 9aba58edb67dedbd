/** While first attempts wait, retries take at most this share of a lane's slots, and of what it starts. */
const retryShare = 0.75;
const retriesInRow = 3;

/** A lane's cap on deliveries in flight, and who may use it. */
export class LaneSlots {
  max: number;
  inFlight = 0;
  /** Fewer than allowed while the endpoint recovers: each success adds one. */
  #recovering = Infinity;
  #retries = 0;
  #retriesInRow = 0;

  constructor(max: number) {
    this.max = max;
  }

  get areLeft(): boolean {
    return this.inFlight < this.max && this.inFlight < this.#recovering;
  }

  /** Retries have their share; a first attempt goes before them. */
  get enoughRetries(): boolean {
    return this.#retries >= retryShare * this.max || this.#retriesInRow >= retriesInRow;
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

  succeeded(): void {
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
