import type { SteadyClock, Timer } from '../../ops/clock.ts';
import type { Destination } from '../../resources/resource.ts';
import { RateLimit } from './rate-limit.ts';
import type { WorkShare, WorkShares } from './work-shares.ts';

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
    const { rateLimit } = destination;
    this.#timer?.cancel();
    this.#timer = undefined;
    const { share, sinceMs } = shares.of(destination);
    this.#share = rateLimit === undefined ? 1 : share;
    if (rateLimit === undefined || share !== 1) this.#limit = undefined;
    else if (this.#limit === undefined) this.#limit = new RateLimit(rateLimit, sinceMs);
    else this.#limit.change(rateLimit, clock.steadyNow());
  }

  /** Whether an event may go now. */
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

  /**
   * Time until an event may go that has `ahead` events before it. While the owner of the limit is not known,
   * it will be known soon.
   */
  waitBehindMs(ahead: number): number {
    if (this.isElsewhere) return Infinity;
    return this.#limit?.waitBehindMs(ahead, this.#options.clock.steadyNow()) ?? 0;
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
    this.#limit?.reserve(this.#options.clock.steadyNow(), turnMs);
  }

  /** Whether the lane can be removed without losing count of what was sent. */
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

/** Longer timers are split, because Node's end at 24 days. */
const maxTimerMs = 60_000;
