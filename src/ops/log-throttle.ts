/** Lets one line through in each interval, and counts the others. */
export class LogThrottle {
  readonly #intervalMs: number;
  #loggedMs = -Infinity;
  #unlogged = 0;

  constructor(intervalMs = 1_000) {
    this.#intervalMs = intervalMs;
  }

  /**
   * The number of lines that went unlogged since the last one; undefined if this one goes unlogged
   * too.
   */
  pass(nowMs: number): number | undefined {
    // Set back, the clock would otherwise silence all lines until it has caught up.
    if (Math.abs(nowMs - this.#loggedMs) < this.#intervalMs) {
      this.#unlogged += 1;
      return undefined;
    }
    const unlogged = this.#unlogged;
    this.#loggedMs = nowMs;
    this.#unlogged = 0;
    return unlogged;
  }
}

/** A throttle for each key. Throttles are never removed, so there must be few keys. */
export class LogThrottles<Key> {
  readonly #intervalMs: number | undefined;
  readonly #throttles = new Map<Key, LogThrottle>();

  constructor(intervalMs?: number) {
    this.#intervalMs = intervalMs;
  }

  /** Does the work of `LogThrottle.pass` for the lines of this key. */
  pass(key: Key, nowMs: number): number | undefined {
    const throttle = this.#throttles.get(key) ?? new LogThrottle(this.#intervalMs);
    this.#throttles.set(key, throttle);
    return throttle.pass(nowMs);
  }
}
