/**
 * What a limit may be exceeded by in any span of time: this much of it at once, beside one event for each
 * worker that has a part of it.
 */
export const burstMs = 100;

/**
 * A worker's share of a destination's rate limit, as a theoretical arrival time (GCRA): in any span of
 * time it lets through at most its share of the rate for that time and the burst, and one event more.
 *
 * What cannot go soon takes a reservation, behind everything that has been promised before.
 */
export class RateLimit {
  #share: number | undefined;
  /** Between two events; infinite without a share. */
  #intervalMs: number;
  /** When the next event would go if nothing were ever early. */
  #nextMs: number;
  /** Until then the capacity is promised to what was put off. */
  #promisedMs = 0;

  /**
   * @param share of the deployment's work that is this worker's; undefined while it is not known
   * @param sinceMs since when; nothing was saved up then
   */
  constructor(perSecond: number, share: number | undefined, sinceMs: number) {
    this.#share = share;
    this.#intervalMs = intervalOf(perSecond, share);
    this.#nextMs = sinceMs + this.#startMs;
  }

  get share(): number | undefined {
    return this.#share;
  }

  /** Another limit, or another share. What has been used up already stays used up. */
  change(perSecond: number, share: number | undefined, nowMs: number): void {
    const former = { share: this.#share ?? 0, intervalMs: this.#intervalMs };
    this.#share = share;
    this.#intervalMs = intervalOf(perSecond, share);
    if (former.intervalMs === Infinity) this.#nextMs = nowMs + this.#startMs;
    else if (this.#intervalMs !== Infinity) {
      const scale = this.#intervalMs / former.intervalMs;
      // Of what is new in the share, nothing is saved up.
      const newPart = Math.max(0, 1 - former.share / (share ?? 0));
      this.#nextMs = nowMs + Math.max(0, this.#nextMs - nowMs) * scale + burstMs * newPart;
      this.#promisedMs = nowMs + Math.max(0, this.#promisedMs - nowMs) * scale;
    }
  }

  /** Until the next event may go; 0: now. */
  waitMs(nowMs: number): number {
    return this.#intervalMs === Infinity ? Infinity : Math.max(0, this.#nextMs - burstMs - nowMs);
  }

  /** Until an event may go that has so many before it; 0 while the share is not known: it will be soon. */
  waitBehindMs(ahead: number, nowMs: number): number {
    if (this.#share === undefined) return 0;
    if (this.#intervalMs === Infinity) return Infinity;
    return Math.max(0, Math.max(this.#nextMs, nowMs) - nowMs - burstMs + ahead * this.#intervalMs);
  }

  /** An event goes. `promised`: for its own reservation, which no other event loses by it. */
  take(nowMs: number, promised: boolean): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs) + this.#intervalMs;
    if (!promised && this.#promisedMs > nowMs) this.#promisedMs += this.#intervalMs;
  }

  /** Until the turn of an event that is put off. */
  reserve(nowMs: number, waitMs: number): number {
    // Another worker has the share then, and takes the event from the shortest tier.
    if (this.#intervalMs === Infinity) return 0;
    const turnMs = Math.max(this.#promisedMs, nowMs + waitMs);
    this.#promisedMs = turnMs + this.#intervalMs;
    return turnMs - nowMs;
  }

  /**
   * Until what would be the first event's time. Whoever had the share before may have sent one at the last
   * moment, so the first goes an interval later.
   */
  get #startMs(): number {
    return burstMs + this.#intervalMs;
  }

  /** Forgetting it would let nothing through that it holds back. */
  isFull(nowMs: number): boolean {
    return this.#nextMs <= nowMs;
  }
}

function intervalOf(perSecond: number, share: number | undefined): number {
  return share === undefined || share === 0 ? Infinity : 1_000 / (perSecond * share);
}
