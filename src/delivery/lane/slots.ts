import { mostInFlight, type Destination } from '../../resources/resource.ts';
import type { DeliveryEvents } from '../events.ts';
import type { Job } from '../job.ts';
import type { SlotPool } from './slot-pool.ts';

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

  /** The waiting jobs that may start. */
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

/** The number of a lane's waiting jobs that go before a job that comes now. */
export function aheadOf(hasReturned: boolean, returned: number, waiting: number): number {
  if (hasReturned) return returned;
  const fresh = waiting - returned;
  return fresh + Math.min(returned, returnedInRow * (fresh + 1));
}

interface MaxInFlightContext {
  readonly pool: SlotPool;
  readonly events: DeliveryEvents;
  readonly maxInFlightPerDestination: number;
}

/**
 * The number of the destination's deliveries that this worker may have in flight. `apply` refuses more than
 * `mostInFlight`, but it may have run before that bound existed, or with another DELIVERY_MAX_IN_FLIGHT.
 */
export function maxInFlightOf(destination: Destination, context: MaxInFlightContext): number {
  const most = mostInFlight(context.pool.size);
  const wanted = destination.maxInFlight;
  if (wanted === undefined) return Math.min(context.maxInFlightPerDestination, most);
  if (wanted > most) context.events.maxInFlightBounded(destination, most);
  return Math.min(wanted, most);
}

/** The factors by which a try lowers and raises the limit. */
const stepDown = 0.7;
const stepUp = 1.5;
/** Share of the throughput that must remain with a lower limit, and that a higher limit must reach. */
const keptShare = 0.9;
const gainedShare = 1.1;
/** Pause after a failed try. A failed higher limit cost nothing; a failed lower one cost throughput. */
const restMs = { up: 5_000, down: 30_000 };
/** Fewer answers are not a sample. In addition, each request in flight must be answered twice. */
const fewestAnswered = 20;

type Direction = keyof typeof restMs;

interface Trial {
  readonly direction: Direction;
  /** The limit to return to. */
  readonly limit: number;
  /** Answers per second before the first try in a row. */
  readonly perSecond: number;
}

/**
 * The number of requests that a lane may have in flight, between 1 and its destination's `maxInFlight`, which is the
 * start. An endpoint that is no faster with more requests only makes them wait. So a lower limit is tried now
 * and then, and kept if throughput does not fall; and a higher one, kept if throughput grows. Latencies are
 * not compared: whatever else makes them long, such as too little CPU time for this worker, would lower the
 * limit of an endpoint that could do better.
 */
export class ConcurrencyLimit {
  #max: number;
  #limit: number;
  #trial: Trial | undefined;
  #answered = 0;
  /** The beginning of the sample, by the steady clock, like the other times. */
  #sinceMs = 0;
  readonly #restUntilMs = { up: 0, down: 0 };

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  get limit(): number {
    return this.#limit;
  }

  get max(): number {
    return this.#max;
  }

  /** The destination has another `maxInFlight`, or other endpoints. */
  startOver(max: number): void {
    this.#max = max;
    this.#limit = max;
    this.#trial = undefined;
  }

  answered(): void {
    this.#answered += 1;
  }

  /** The endpoint has answered 429. */
  throttled(inFlight: number, nowMs: number): void {
    this.#limit = Math.max(1, Math.floor(Math.min(this.#limit, inFlight) / 2));
    this.#rest('up', nowMs);
  }

  /**
   * Must be called about once a second.
   * @param isSaturated since the last tick, more could have gone out at any time with a higher limit
   */
  tick(isSaturated: boolean, nowMs: number): void {
    if (!isSaturated) {
      this.#begin(nowMs);
      return;
    }
    if (this.#answered < Math.max(fewestAnswered, 2 * this.#limit)) return;
    const perSecond = (this.#answered * 1_000) / Math.max(1, nowMs - this.#sinceMs);
    this.#begin(nowMs);
    this.#judge(perSecond, nowMs);
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#answered = 0;
  }

  #judge(perSecond: number, nowMs: number): void {
    const trial = this.#trial;
    this.#trial = undefined;
    if (trial === undefined) {
      const direction = this.#mayTry('up', nowMs) ? 'up' : 'down';
      if (this.#mayTry(direction, nowMs)) this.#try(direction, perSecond);
    } else if (
      perSecond >=
      trial.perSecond * (trial.direction === 'up' ? gainedShare : keptShare)
    ) {
      // A gain is the reference for further tries in the row. Losses add up, so their reference stays.
      const reference = trial.direction === 'up' ? perSecond : trial.perSecond;
      if (this.#mayTry(trial.direction, nowMs)) this.#try(trial.direction, reference);
    } else {
      this.#limit = trial.limit;
      this.#rest(trial.direction, nowMs);
    }
  }

  #mayTry(direction: Direction, nowMs: number): boolean {
    const isPossible = direction === 'up' ? this.#limit < this.#max : this.#limit > 1;
    return isPossible && nowMs >= this.#restUntilMs[direction];
  }

  #try(direction: Direction, perSecond: number): void {
    this.#trial = { direction, limit: this.#limit, perSecond };
    this.#limit =
      direction === 'up'
        ? Math.min(this.#max, Math.ceil(this.#limit * stepUp))
        : Math.max(1, Math.floor(this.#limit * stepDown));
  }

  #rest(direction: Direction, nowMs: number): void {
    this.#trial = undefined;
    this.#restUntilMs[direction] = nowMs + restMs[direction];
  }
}
