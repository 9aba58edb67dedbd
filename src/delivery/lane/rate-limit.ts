/** How far a limit may be exceeded in any span of time: by this much of it, plus one event. */
export const burstMs = 100;

/**
 * A destination's rate limit, as a theoretical arrival time (GCRA). In any span of time it lets through at
 * most the rate for that time, the burst, and one event.
 *
 * An event that cannot go soon takes a reservation behind everything that was promised before.
 */
export class RateLimit {
  /** Between two events. */
  #intervalMs: number;
  /** When the next event would go if none were ever early. */
  #nextMs: number;
  /** Until then, the capacity is promised to events that were put off. */
  #promisedMs = 0;

  /**
   * @param sinceMs since when this worker has the limit. The former owner may have sent an event at the last
   * moment, so the first event goes an interval later, and no burst is saved up.
   */
  constructor(perSecond: number, sinceMs: number) {
    this.#intervalMs = 1_000 / perSecond;
    this.#nextMs = sinceMs + burstMs + this.#intervalMs;
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

  /** An event goes. `promised`: it uses its own reservation, so no other event loses its turn. */
  take(nowMs: number, promised: boolean): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs) + this.#intervalMs;
    if (!promised && this.#promisedMs > nowMs) this.#promisedMs += this.#intervalMs;
  }

  /** Time until a turn that is promised to no other event, for an event that would wait for `waitMs` here. */
  turnMs(nowMs: number, waitMs: number): number {
    return Math.max(this.#promisedMs - nowMs, waitMs);
  }

  /** Reserves a turn for an event that is put off. */
  reserve(nowMs: number, turnMs: number): void {
    this.#promisedMs = nowMs + turnMs + this.#intervalMs;
  }

  /** Whether a new limit in the place of this one would let no more through. */
  isFull(nowMs: number): boolean {
    return this.#nextMs <= nowMs;
  }
}
