import type { SteadyClock, Timer } from '../../ops/clock.ts';
import type { Destination } from '../../resources/resource.ts';
import type { Job } from '../job.ts';
import type { WorkShare, WorkShares } from './work-shares.ts';

/** Longer timers are split, because Node's end at 24 days. */
const maxTimerMs = 60_000;
/**
 * The events that a limit lets through in this time may go out together. What comes back for its turn waits for as long
 * behind a batch, which is no reason yet to put it off again.
 */
const togetherMs = 1_000;
/** A limit may be exceeded by this much of it, plus one event, in any span of time. */
export const burstMs = 100;

/**
 * A destination's rate limit, as a theoretical arrival time (GCRA). In any span of time it lets through at
 * most the rate for that time, the burst, and one event.
 *
 * An event that cannot go soon takes a reservation behind everything that was promised before.
 */
export class RateLimit {
  /** Time between two events. */
  #intervalMs: number;
  /** The time when the next event would go if none were ever early. */
  #nextMs: number;
  /** The time until which the capacity is promised to events that were put off. */
  #promisedMs = 0;

  /**
   * @param sinceMs since when this worker has the limit. The former owner may have sent an event at the last
   * moment, so the first event goes an interval later, and no burst is saved up.
   * @param atOnce the most events that it may have sent together
   */
  constructor(perSecond: number, sinceMs: number, atOnce = 1) {
    this.#intervalMs = 1_000 / perSecond;
    this.#nextMs = sinceMs + burstMs + atOnce * this.#intervalMs;
  }

  /** The limit has changed. What was used up stays used up. */
  change(perSecond: number, nowMs: number): void {
    const formerMs = this.#intervalMs;
    this.#intervalMs = 1_000 / perSecond;
    const scale = this.#intervalMs / formerMs;
    this.#nextMs = nowMs + Math.max(0, this.#nextMs - nowMs) * scale;
    this.#promisedMs = nowMs + Math.max(0, this.#promisedMs - nowMs) * scale;
  }

  /** Time until the next event may go; 0: now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - burstMs - nowMs);
  }

  /** Time until an event may go that has `ahead` events before it. */
  waitBehindMs(ahead: number, nowMs: number): number {
    return Math.max(0, Math.max(this.#nextMs, nowMs) - nowMs - burstMs + ahead * this.#intervalMs);
  }

  /** Events go. `promised`: they use their own reservations, so no other event loses its turn. */
  take(nowMs: number, promised: boolean, events = 1): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs) + events * this.#intervalMs;
    if (!promised && this.#promisedMs > nowMs) this.#promisedMs += events * this.#intervalMs;
  }

  /** Time until a turn that is promised to no other event, for an event that would wait for `waitMs` here. */
  turnMs(nowMs: number, waitMs: number): number {
    return Math.max(this.#promisedMs - nowMs, waitMs);
  }

  /** Reserves a turn, or the part of one that an event takes, for an event that is put off. */
  reserve(nowMs: number, turnMs: number, part = 1): void {
    this.#promisedMs = nowMs + turnMs + part * this.#intervalMs;
  }

  /** A new limit in the place of this one would let no more through. */
  isFull(nowMs: number): boolean {
    return this.#nextMs <= nowMs;
  }
}

export interface LaneRateOptions {
  readonly clock: SteadyClock;
  readonly shares: WorkShares;
  /** Called when the next event may go. */
  readonly onReady: () => void;
}

/** A lane's rate limit, if its destination has one, and the timer for the next event that it lets through. */
export class LaneRate {
  readonly #options: LaneRateOptions;
  /** This worker's share of the limit; 1 where there is no limit. */
  #share: WorkShare['share'] = 1;
  /** Undefined without a limit, and while another worker has the limit or its owner is not known. */
  #limit: RateLimit | undefined;
  #isOfRequests = false;
  /** The most events that may go out in one request. */
  mostTogether: number = Infinity;
  /** The events of a full batch, where the limit counts requests; else 1. */
  #perTurn = 1;
  #timer: Timer | undefined;

  constructor(options: LaneRateOptions) {
    this.#options = options;
  }

  get isLimited(): boolean {
    return this.#limit !== undefined || this.#share !== 1;
  }

  /** Another worker has the limit, so this worker sends nothing to the destination. */
  get isElsewhere(): boolean {
    return this.#share === 0;
  }

  /** The destination's limit, or its owner, may have changed. */
  update(destination: Destination): void {
    const { clock, shares } = this.#options;
    const { rateLimit, rateLimitOf, batch } = destination;
    const events = batch?.events ?? 1;
    this.#isOfRequests = rateLimitOf === 'requests';
    this.#perTurn = this.#isOfRequests ? events : 1;
    this.mostTogether =
      rateLimit === undefined || this.#isOfRequests
        ? Infinity
        : Math.max(1, Math.floor((rateLimit * togetherMs) / 1_000));
    const turns = this.#isOfRequests ? 1 : Math.min(events, this.mostTogether);
    this.#timer?.cancel();
    this.#timer = undefined;
    const { share, sinceMs } = shares.of(destination);
    this.#share = rateLimit === undefined ? 1 : share;
    if (rateLimit === undefined || share !== 1) this.#limit = undefined;
    else if (this.#limit === undefined) this.#limit = new RateLimit(rateLimit, sinceMs, turns);
    else this.#limit.change(rateLimit, clock.steadyNow());
  }

  /** An event may go now. */
  get isReady(): boolean {
    return this.#waitMs() === 0;
  }

  /** Calls `onReady` when the next event may go, unless it may go now. */
  await(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#waitMs();
    if (waitMs === 0 || waitMs === Infinity) return;
    this.#timer = this.#options.clock.after(Math.min(waitMs, maxTimerMs), () => {
      this.#timer = undefined;
      this.#options.onReady();
    });
  }

  take(promised: boolean): void {
    this.#limit?.take(this.#options.clock.steadyNow(), promised);
  }

  /** These go together, in one request. */
  takeBatch(jobs: readonly Pick<Job, 'hasReturned'>[]): void {
    if (this.#limit === undefined) return;
    const nowMs = this.#options.clock.steadyNow();
    let returned = 0;
    for (const { hasReturned } of jobs) if (hasReturned) returned += 1;
    if (this.#isOfRequests) {
      this.#limit.take(nowMs, returned === jobs.length);
      return;
    }
    if (returned > 0) this.#limit.take(nowMs, true, returned);
    if (returned < jobs.length) this.#limit.take(nowMs, false, jobs.length - returned);
  }

  /**
   * Time until an event may go that has `ahead` events before it. While the owner of the limit is not known,
   * it will be known soon.
   */
  waitBehindMs(ahead: number): number {
    if (this.isElsewhere) return Infinity;
    const turns = Math.floor(ahead / this.#perTurn);
    return this.#limit?.waitBehindMs(turns, this.#options.clock.steadyNow()) ?? 0;
  }

  /**
   * Time until a turn that is promised to no other event, for an event that would have to wait for `waitMs`
   * here. If another worker has the limit, it takes the event as soon as possible.
   */
  turnMs(waitMs: number): number {
    return this.#limit?.turnMs(this.#options.clock.steadyNow(), waitMs) ?? 0;
  }

  /** An event is put off until this turn. */
  reserve(turnMs: number): void {
    this.#limit?.reserve(this.#options.clock.steadyNow(), turnMs, 1 / this.#perTurn);
  }

  /** The lane can be removed without losing count of what was sent. */
  get isForgettable(): boolean {
    return this.#limit === undefined || this.#limit.isFull(this.#options.clock.steadyNow());
  }

  close(): void {
    this.#timer?.cancel();
  }

  #waitMs(): number {
    if (this.#limit !== undefined) return this.#limit.waitMs(this.#options.clock.steadyNow());
    return this.#share === 1 ? 0 : Infinity;
  }
}
