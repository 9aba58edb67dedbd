import type { Job } from '../job.ts';
import { ConcurrencyLimit } from './concurrency.ts';

/** Of a lane's slots, for retries at most: a first attempt finds one. */
const retryShare = 0.75;
/** While fresh records wait, one goes after so many that have come back. */
const returnedInRow = 3;

/** `fresh-before`: one that has come back only where no fresh one waits. */
export type Turn = 'any' | 'fresh-before' | 'no-retry';

/** A lane's cap on deliveries in flight, and who may use it. */
export class LaneSlots {
  readonly concurrency: ConcurrencyLimit;
  inFlight = 0;
  /** Fewer than allowed while the endpoint recovers: each answer adds one. */
  #recovering = Infinity;
  #retries = 0;
  #returnedInRow = 0;

  constructor(max: number) {
    this.concurrency = new ConcurrencyLimit(max);
  }

  get max(): number {
    return this.concurrency.max;
  }

  get areLeft(): boolean {
    return this.inFlight < this.concurrency.limit && this.inFlight < this.#recovering;
  }

  /** Which of what waits may start. */
  get turn(): Turn {
    if (this.#retries >= retryShare * this.concurrency.limit) return 'no-retry';
    return this.#returnedInRow >= returnedInRow ? 'fresh-before' : 'any';
  }

  started({ isRetry, hasReturned }: Pick<Job, 'isRetry' | 'hasReturned'>): void {
    this.inFlight += 1;
    if (isRetry) this.#retries += 1;
    this.#returnedInRow = hasReturned ? this.#returnedInRow + 1 : 0;
  }

  ended(isRetry: boolean): void {
    this.inFlight -= 1;
    if (isRetry) this.#retries -= 1;
  }

  answered(): void {
    this.concurrency.answered();
    if (this.#recovering < this.max) this.#recovering += 1;
  }

  /** With another maxInFlight, or for another endpoint. */
  startOver(max: number): void {
    this.concurrency.startOver(max);
  }

  /** The endpoint has said that this is too much. */
  throttled(nowMs: number): void {
    this.concurrency.throttled(this.inFlight, nowMs);
  }

  /** The endpoint has just come back, or has been left alone for a while: it is not hit with everything at once. */
  rampUp(): void {
    this.#recovering = 1;
  }
}

/** How many of a lane's waiting jobs go before one that comes now. */
export function aheadOf(hasReturned: boolean, returned: number, waiting: number): number {
  if (hasReturned) return returned;
  const fresh = waiting - returned;
  return fresh + Math.min(returned, returnedInRow * (fresh + 1));
}
