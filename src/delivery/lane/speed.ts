import type { Outcome } from '../outcome.ts';

/** Attempts without a success between them that make a lane slow. */
const failuresInRow = 5;
const slowMs = 1_000;
/** Weight of the newest attempt. */
const smoothing = 0.2;

/**
 * Whether a lane takes long for what it gets: its slots then come out of the quarter that all such lanes
 * share. Attempts that have not ended count by their age, because those of an endpoint that hangs end late.
 */
export class LaneSpeed {
  #inFlight = 0;
  #startsMs = 0;
  #failuresInRow = 0;
  #failingSinceMs: number | undefined;
  #averageMs = 0;

  started(nowMs: number): void {
    this.#inFlight += 1;
    this.#startsMs += nowMs;
  }

  ended(startedMs: number, nowMs: number, result: Outcome['kind']): void {
    this.#inFlight -= 1;
    this.#startsMs -= startedMs;
    this.#failuresInRow = result === 'delivered' ? 0 : this.#failuresInRow + 1;
    if (result === 'retryable') this.#failingSinceMs ??= startedMs;
    else this.#failingSinceMs = undefined;
    this.#averageMs += smoothing * (nowMs - startedMs - this.#averageMs);
  }

  /** It was no attempt. */
  cancelled(startedMs: number): void {
    this.#inFlight -= 1;
    this.#startsMs -= startedMs;
  }

  /** Of an attempt, lately. */
  get averageMs(): number {
    return this.#averageMs;
  }

  /** Since the beginning of the first of the retryable failures that have come in a row; 0 without one. */
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
