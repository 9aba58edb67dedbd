import type { Clock } from '../ops/clock.ts';

interface Bucket {
  calls: number;
  updatedMs: number;
}

/**
 * A token bucket for each write key, in calls. It holds one second's worth, and may be overdrawn by one
 * request, so that a batch larger than it can be accepted at all; the next ones wait for the debt.
 */
export class RateLimits {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Undefined if the calls may come now, else after how many seconds. Only for known keys: each is remembered. */
  take(writeKey: string, calls: number): number | undefined {
    const bucket = this.#filled(writeKey);
    if (bucket.calls < 1) return (1 - bucket.calls) / this.#perSecond;
    bucket.calls -= calls;
    return undefined;
  }

  /** Calls that were taken and then not accepted, through no fault of their sender. */
  giveBack(writeKey: string, calls: number): void {
    this.#filled(writeKey).calls += calls;
  }

  #filled(writeKey: string): Bucket {
    const now = this.#clock.now();
    const capacity = Math.max(1, this.#perSecond);
    let bucket = this.#buckets.get(writeKey);
    if (bucket === undefined) {
      bucket = { calls: capacity, updatedMs: now };
      this.#buckets.set(writeKey, bucket);
    }
    const refill = (Math.max(0, now - bucket.updatedMs) / 1_000) * this.#perSecond;
    bucket.calls = Math.min(capacity, bucket.calls + refill);
    bucket.updatedMs = now;
    return bucket;
  }
}
