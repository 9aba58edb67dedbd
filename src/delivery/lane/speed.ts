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
  /** When an attempt last began or ended. */
  #changedMs = 0;
  #startsMs = 0;
  #failuresInRow = 0;
  #failingSinceMs: number | undefined;
  #averageMs = 0;

  started(nowMs: number): void {
    this.#inFlight += 1;
    this.#changedMs = nowMs;
    this.#startsMs += nowMs;
  }

  ended(startedMs: number, nowMs: number, result: Outcome['kind']): void {
    this.#inFlight -= 1;
    this.#changedMs = nowMs;
    this.#startsMs -= startedMs;
    this.#failuresInRow = result === 'delivered' ? 0 : this.#failuresInRow + 1;
    if (result === 'retryable') this.#failingSinceMs ??= startedMs;
    else this.#failingSinceMs = undefined;
    this.#averageMs += smoothing * (nowMs - startedMs - this.#averageMs);
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

  /** For how long none of the attempts in flight has ended, nor has another one begun; 0 without one. */
  silentMs(nowMs: number): number {
    return this.#inFlight === 0 ? 0 : nowMs - this.#changedMs;
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
