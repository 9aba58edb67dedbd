import type { Outcome } from '../outcome.ts';

/** A lane is slow after so many attempts in a row without a success. */
const failuresInRow = 5;
const slowMs = 1_000;
/** Weight of the newest attempt. */
const smoothing = 0.2;

/**
 * Whether a lane takes long for each attempt. The slots of all slow lanes come out of a quarter that they
 * share. Attempts that have not ended count with their age, because those of a hanging endpoint end late.
 */
export class LaneSpeed {
  #inFlight = 0;
  /** Since when attempts have been in flight of which none has ended. */
  #silentSinceMs = 0;
  #startsMs = 0;
  #failuresInRow = 0;
  #failingSinceMs: number | undefined;
  #averageMs = 0;

  started(nowMs: number): void {
    if (this.#inFlight === 0) this.#silentSinceMs = nowMs;
    this.#inFlight += 1;
    this.#startsMs += nowMs;
  }

  ended(startedMs: number, nowMs: number, result: Outcome['kind']): void {
    this.#inFlight -= 1;
    this.#silentSinceMs = nowMs;
    this.#startsMs -= startedMs;
    this.#failuresInRow = result === 'delivered' ? 0 : this.#failuresInRow + 1;
    if (result === 'retryable') this.#failingSinceMs ??= startedMs;
    else this.#failingSinceMs = undefined;
    const tookMs = nowMs - startedMs;
    this.#averageMs += smoothing * (tookMs - this.#averageMs);
  }

  /** The request did not count as an attempt. */
  cancelled(startedMs: number): void {
    this.#inFlight -= 1;
    this.#startsMs -= startedMs;
  }

  /** Recent average time of an attempt. */
  get averageMs(): number {
    return this.#averageMs;
  }

  /** For how long none of the attempts in flight has ended, if that is twice as long as one usually takes; 0: it is not. */
  silentMs(nowMs: number): number {
    if (this.#inFlight === 0) return 0;
    const silentMs = nowMs - this.#silentSinceMs;
    return silentMs > 2 * this.#averageMs ? silentMs : 0;
  }

  /** Time since the first of the current row of retryable failures began; 0 without one. */
  failingForMs(nowMs: number): number {
    return this.#failingSinceMs === undefined ? 0 : nowMs - this.#failingSinceMs;
  }

  isSlow(nowMs: number): boolean {
    return (
      this.#failuresInRow >= failuresInRow ||
      this.#averageMs > slowMs ||
      nowMs * this.#inFlight - this.#startsMs > slowMs * this.#inFlight
    );
  }
}
