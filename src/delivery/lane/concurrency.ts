/** So much less, or more, is tried at a time. */
const stepDown = 0.7;
const stepUp = 1.5;
/** Of the throughput, what must be left with fewer requests at a time, and what more of them must gain. */
const keptShare = 0.9;
const gainedShare = 1.1;
/** After a try that has failed, until the next one. To have tried more costs nothing; less costs throughput. */
const restMs = { up: 5_000, down: 30_000 };
/** Fewer answers say too little; besides, each request that is on its way is to be answered twice. */
const fewestAnswered = 20;

type Direction = keyof typeof restMs;

interface Trial {
  readonly direction: Direction;
  /** To go back to. */
  readonly limit: number;
  /** Answers per second before the first of the tries in a row. */
  readonly perSecond: number;
}

/**
 * How many requests a lane may have on their way, between 1 and its destination's `maxInFlight`. It begins
 * with all of them. An endpoint that answers no more for them than for fewer only makes them wait: so fewer
 * are tried now and then, and kept if that costs no throughput; and more, if they gain some. Latencies are
 * not compared, because whatever else makes them long, such as too little processor time for this worker,
 * would make an endpoint slower that could do better.
 */
export class ConcurrencyLimit {
  #max: number;
  #limit: number;
  #trial: Trial | undefined;
  #answered = 0;
  /** By the steady clock, like the other times. */
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

  /** With another maxInFlight, or for another endpoint. */
  startOver(max: number): void {
    this.#max = max;
    this.#limit = max;
    this.#trial = undefined;
  }

  answered(): void {
    this.#answered += 1;
  }

  /** The endpoint says that this is too much. */
  throttled(inFlight: number, nowMs: number): void {
    this.#limit = Math.max(1, Math.floor(Math.min(this.#limit, inFlight) / 2));
    this.#rest('up', nowMs);
  }

  /** About once a second. `isSaturated`: all that time more could have gone out, but for the limit. */
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
      // What has been gained is what further tries are measured by; what is lost adds up.
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
