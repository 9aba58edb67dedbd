/** A fresh follower has reached an end of the topic that was requested at most this long ago. */
export const freshMs = 2_000;

interface Waiter {
  readonly sinceMs: number;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Whether a follower has read as far as its topic went at the last request. Only answers count: each
 * partition's own, that nothing is behind what was read of it, and the cluster's, which partitions exist.
 * Pure; all times are of the steady clock.
 */
export class FollowerProgress {
  /** When the end that a partition's reader has reached was requested; undefined: it has reached none yet. */
  #reachedAtMs: (number | undefined)[] = [];
  #refreshedAtMs = -Infinity;
  #waiters: Waiter[] = [];
  #ended: Error | undefined = undefined;

  /** The cluster was asked at `askedAtMs`, and reported so many partitions. */
  refreshed(partitions: number, askedAtMs: number): void {
    while (this.#reachedAtMs.length < partitions) this.#reachedAtMs.push(undefined);
    this.#refreshedAtMs = askedAtMs;
    this.#settle();
  }

  /** The partition answered a request of that time: nothing is behind what was read. */
  reached(partition: number, askedAtMs: number): void {
    this.#reachedAtMs[partition] = askedAtMs;
    this.#settle();
  }

  /** Everything that was known of the topic is void. */
  restart(): void {
    this.#reachedAtMs = [];
    this.#refreshedAtMs = -Infinity;
  }

  isFresh(nowMs: number): boolean {
    return nowMs - this.#knownAtMs <= freshMs;
  }

  /** Resolves when everything has been read that existed at that time, or rejects as `end` says. */
  caughtUpWith(sinceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(this.#ended);
      else this.#waiters.push({ sinceMs, resolve, reject });
    });
  }

  /** Nothing more is read. Who waits, or asks later, is told why; the first reason counts. */
  end(why: Error): void {
    this.#ended ??= why;
    for (const waiter of this.#waiters) waiter.reject(this.#ended);
    this.#waiters = [];
  }

  /** Whether a caller waits for this partition's next answer. */
  isAwaited(partition: number): boolean {
    const reachedAtMs = this.#reachedAtMs[partition] ?? -Infinity;
    return this.#waiters.some(({ sinceMs }) => sinceMs > reachedAtMs);
  }

  /** Everything that existed at this time has been read. */
  get #knownAtMs(): number {
    let knownAtMs = this.#reachedAtMs.length === 0 ? -Infinity : this.#refreshedAtMs;
    for (const reachedAtMs of this.#reachedAtMs)
      knownAtMs = Math.min(knownAtMs, reachedAtMs ?? -Infinity);
    return knownAtMs;
  }

  #settle(): void {
    if (this.#waiters.length === 0) return;
    const knownAtMs = this.#knownAtMs;
    const met = this.#waiters.filter(({ sinceMs }) => sinceMs <= knownAtMs);
    if (met.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const waiter of met) waiter.resolve();
  }
}
