import type { Clock } from '../ops/clock.ts';

/** More than a usual call has. So large requests, which cost much of everything that follows, count as more calls. */
const bytesOfCall = 2 * 1024;

/** The calls that a request counts as. `bytes`: with the fields of its batch in each of its calls. */
export function callsWorth(calls: number, bytes: number): number {
  return Math.max(calls, Math.ceil(bytes / bytesOfCall));
}

interface Bucket {
  calls: number;
  updatedMs: number;
}

/**
 * A token bucket for each write key, in calls, as `callsWorth` counts them. It holds one second's worth, and one request
 * may overdraw it, so that a batch larger than the bucket can be accepted at all. Later requests wait until the debt is
 * paid.
 */
export class RateLimits {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /**
   * Undefined if the calls are within the limit, otherwise after how many seconds they are. Only for known
   * keys, because each gets a bucket.
   */
  take(writeKey: string, calls: number): number | undefined {
    const bucket = this.#filled(writeKey);
    if (bucket.calls < 1) return (1 - bucket.calls) / this.#perSecond;
    bucket.calls -= calls;
    return undefined;
  }

  /** Returns tokens of calls that were not accepted for a reason that is not their sender's. */
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
