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
  #averageMs = 0;

  started(nowMs: number): void {
    this.#inFlight += 1;
    this.#startsMs += nowMs;
  }

  ended(startedMs: number, nowMs: number, succeeded: boolean): void {
    this.#inFlight -= 1;
    this.#startsMs -= startedMs;
    this.#failuresInRow = succeeded ? 0 : this.#failuresInRow + 1;
    this.#averageMs += smoothing * (nowMs - startedMs - this.#averageMs);
  }

  isSlow(nowMs: number): boolean {
    return (
      this.#failuresInRow >= failuresInRow ||
      this.#averageMs > slowMs ||
      nowMs * this.#inFlight - this.#startsMs > slowMs * this.#inFlight
    );
  }
}
