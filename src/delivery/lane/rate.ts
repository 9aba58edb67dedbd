import type { SteadyClock, Timer } from '../../ops/clock.ts';
import type { Destination } from '../../resources/resource.ts';
import { RateLimit } from './rate-limit.ts';
import type { WorkShares } from './work-shares.ts';

export interface LaneRateOptions {
  readonly clock: SteadyClock;
  readonly shares: WorkShares;
  /** The next event may go. */
  readonly onReady: () => void;
}

/** A lane's rate limit, if its destination has one, and the timer for the next event that it lets through. */
export class LaneRate {
  readonly #options: LaneRateOptions;
  #limit: RateLimit | undefined;
  #timer: Timer | undefined;

  constructor(options: LaneRateOptions) {
    this.#options = options;
  }

  get isLimited(): boolean {
    return this.#limit !== undefined;
  }

  /** Another worker has all of the limit: nothing goes from here. */
  get isElsewhere(): boolean {
    return this.#limit?.share === 0;
  }

  /** The destination's limit or this worker's share of it may have changed. */
  update(destination: Destination): void {
    const { clock, shares } = this.#options;
    const { rateLimit } = destination;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (rateLimit === undefined) {
      this.#limit = undefined;
      return;
    }
    const { share, sinceMs } = shares.of(destination);
    if (this.#limit === undefined) this.#limit = new RateLimit(rateLimit, share, sinceMs);
    else this.#limit.change(rateLimit, share, clock.steadyNow());
  }

  /** Whether an event may go now. */
  get isReady(): boolean {
    return this.#limit === undefined || this.#limit.waitMs(this.#options.clock.steadyNow()) === 0;
  }

  /** Calls `onReady` when the next event may go; not if it may now. */
  await(): void {
    if (this.#limit === undefined || this.#timer !== undefined) return;
    const waitMs = this.#limit.waitMs(this.#options.clock.steadyNow());
    if (waitMs === 0 || waitMs === Infinity) return;
    this.#timer = this.#options.clock.after(Math.min(waitMs, maxTimerMs), () => {
      this.#timer = undefined;
      this.#options.onReady();
    });
  }

  take(promised: boolean): void {
    this.#limit?.take(this.#options.clock.steadyNow(), promised);
  }

  /** Until an event may go that has so many before it. */
  waitBehindMs(ahead: number): number {
    return this.#limit?.waitBehindMs(ahead, this.#options.clock.steadyNow()) ?? 0;
  }

  /** Until the turn of an event that is put off. */
  reserve(waitMs: number): number {
    return this.#limit?.reserve(this.#options.clock.steadyNow(), waitMs) ?? 0;
  }

  /** Nothing would be forgotten with it. */
  get isForgettable(): boolean {
    return this.#limit === undefined || this.#limit.isFull(this.#options.clock.steadyNow());
  }

  close(): void {
    this.#timer?.cancel();
  }
}

/** Longer timers are split: Node's end at 24 days. */
const maxTimerMs = 60_000;
