/** What a limit may be exceeded by in any span of time: this much of it at once, beside one event. */
export const burstMs = 100;

/**
 * A destination's rate limit, as a theoretical arrival time (GCRA): in any span of time it lets through at
 * most the rate for that time and the burst, and one event more.
 *
 * What cannot go soon takes a reservation, behind everything that has been promised before.
 */
export class RateLimit {
  /** Between two events. */
  #intervalMs: number;
  /** When the next event would go if nothing were ever early. */
  #nextMs: number;
  /** Until then the capacity is promised to what was put off. */
  #promisedMs = 0;

  /**
   * @param sinceMs since when it is this worker's. Whoever had it before may have sent an event at the last
   *   moment: the first one goes an interval later, and nothing is saved up.
   */
  constructor(perSecond: number, sinceMs: number) {
    this.#intervalMs = 1_000 / perSecond;
    this.#nextMs = sinceMs + burstMs + this.#intervalMs;
  }

  /** Another limit. What has been used up already stays used up. */
  change(perSecond: number, nowMs: number): void {
    const formerMs = this.#intervalMs;
    this.#intervalMs = 1_000 / perSecond;
    const scale = this.#intervalMs / formerMs;
    this.#nextMs = nowMs + Math.max(0, this.#nextMs - nowMs) * scale;
    this.#promisedMs = nowMs + Math.max(0, this.#promisedMs - nowMs) * scale;
  }

  /** Until the next event may go; 0: now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - burstMs - nowMs);
  }

  /** Until an event may go that has so many before it. */
  waitBehindMs(ahead: number, nowMs: number): number {
    return Math.max(0, Math.max(this.#nextMs, nowMs) - nowMs - burstMs + ahead * this.#intervalMs);
  }

  /** An event goes. `promised`: for its own reservation, which no other event loses by it. */
  take(nowMs: number, promised: boolean): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs) + this.#intervalMs;
    if (!promised && this.#promisedMs > nowMs) this.#promisedMs += this.#intervalMs;
  }

  /** Until a turn that is promised to nobody, for an event that would have to wait so long here. */
  turnMs(nowMs: number, waitMs: number): number {
    return Math.max(this.#promisedMs - nowMs, waitMs);
  }

  /** An event is put off until this turn. */
  reserve(nowMs: number, turnMs: number): void {
    this.#promisedMs = nowMs + turnMs + this.#intervalMs;
  }

  /** Forgetting it would let nothing through that it holds back. */
  isFull(nowMs: number): boolean {
    return this.#nextMs <= nowMs;
  }
}
