import type { SteadyClock, Timer } from '../../ops/clock.ts';
import type { Retryable } from '../outcome.ts';

/**
 * Hold after an answer of 429 without `Retry-After`, or with one that is over: who rounds seconds down, or sends a
 * date by a clock that is behind, says that too.
 */
const tooManyMs = 1_000;

/** The time for which an answer asks to leave the endpoint alone. */
export function wishedMs({ cause, retryAfterMs = 0 }: Retryable): number {
  return retryAfterMs === 0 && cause === 'status-429' ? tooManyMs : retryAfterMs;
}

/** Holds that follow one another within this time are reported as one. */
const apartMs = 5_000;

/** The time from the beginning of the first hold to the end of the last one. */
export interface RowOfHolds {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The time for which an endpoint asked to be left alone. It holds the whole lane. */
export class LaneHold {
  readonly #clock: SteadyClock;
  readonly #onEnd: () => void;
  /** The end of the hold, by the steady clock, like all times in here; undefined if there is none. */
  #untilMs: number | undefined;
  /** The current row of holds; its last one may be over. */
  #row: RowOfHolds | undefined;
  #timer: Timer | undefined;

  constructor(clock: SteadyClock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return this.#untilMs !== undefined;
  }

  /** The row of holds that is on, or was on just now, in epoch milliseconds. */
  get row(): RowOfHolds | undefined {
    const row = this.#rowAt(this.#clock.steadyNow());
    if (row === undefined) return undefined;
    const epochMs = this.#clock.now() - this.#clock.steadyNow();
    return { sinceMs: epochMs + row.sinceMs, untilMs: epochMs + row.untilMs };
  }

  get leftMs(): number {
    return Math.max(0, (this.#untilMs ?? 0) - this.#clock.steadyNow());
  }

  /** @returns false if the hold lasts as long already */
  extend(forMs: number): boolean {
    const nowMs = this.#clock.steadyNow();
    const untilMs = nowMs + forMs;
    if (untilMs <= (this.#untilMs ?? nowMs)) return false;
    this.#row = { sinceMs: this.#rowAt(nowMs)?.sinceMs ?? nowMs, untilMs };
    this.#untilMs = untilMs;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(forMs, () => {
      this.#untilMs = undefined;
      this.#timer = undefined;
      this.#onEnd();
    });
    return true;
  }

  /** The URL that asked for the hold no longer belongs to the destination. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#untilMs = undefined;
    this.#row = undefined;
  }

  close(): void {
    this.#timer?.cancel();
  }

  #rowAt(nowMs: number): RowOfHolds | undefined {
    return this.#row !== undefined && nowMs - this.#row.untilMs < apartMs ? this.#row : undefined;
  }
}
