import type { Job } from '../job.ts';
import { ConcurrencyLimit } from './concurrency.ts';

/** Greatest share of a lane's slots for retries, so that a first attempt finds a slot. */
const retryShare = 0.75;
/** While fresh records wait, one of them goes after so many that have come back. */
const returnedInRow = 3;

/** `fresh-before`: a record that has come back may start only if no fresh one waits. */
export type Turn = 'any' | 'fresh-before' | 'no-retry';

/** A lane's limit of deliveries in flight, and which jobs may use it. */
export class LaneSlots {
  readonly concurrency: ConcurrencyLimit;
  inFlight = 0;
  /** While the endpoint recovers, fewer slots than allowed; each answer adds one. */
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

  /** Which waiting jobs may start. */
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

  /** The destination has another `maxInFlight`, or other endpoints. */
  startOver(max: number): void {
    this.concurrency.startOver(max);
  }

  /** The endpoint has answered 429. */
  throttled(nowMs: number): void {
    this.concurrency.throttled(this.inFlight, nowMs);
  }

  /** The endpoint has just recovered, or was left alone for a while. It must not get everything at once. */
  rampUp(): void {
    this.#recovering = 1;
  }
}

/** How many of a lane's waiting jobs go before a job that comes now. */
export function aheadOf(hasReturned: boolean, returned: number, waiting: number): number {
  if (hasReturned) return returned;
  const fresh = waiting - returned;
  return fresh + Math.min(returned, returnedInRow * (fresh + 1));
}
