import type { Clock, Timer } from '../../ops/clock.ts';
import type { Retryable } from '../outcome.ts';

/** Hold after an answer of 429 without `Retry-After`. */
const tooManyMs = 1_000;

/** For how long an answer asks to leave the endpoint alone. */
export function wishedMs({ cause, retryAfterMs }: Retryable): number {
  return retryAfterMs ?? (cause === 'status-429' ? tooManyMs : 0);
}

/** Holds that follow one another within this time are reported as one. */
const apartMs = 5_000;

/** The time for which an endpoint asked to be left alone. It holds the whole lane. */
export class LaneHold {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  /** 0: the lane is not held. */
  #untilMs = 0;
  /** The current row of holds; its last one may be over. */
  #row: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return this.#untilMs > 0;
  }

  /** The row of holds that is on, or was on just now. */
  rowAt(nowMs: number): { readonly sinceMs: number; readonly untilMs: number } | undefined {
    return this.#row !== undefined && nowMs - this.#row.untilMs < apartMs ? this.#row : undefined;
  }

  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /** False if the lane is already held for as long. */
  extend(nowMs: number, forMs: number): boolean {
    if (nowMs + forMs <= this.#untilMs) return false;
    this.#row = { sinceMs: this.rowAt(nowMs)?.sinceMs ?? nowMs, untilMs: nowMs + forMs };
    this.#untilMs = nowMs + forMs;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(forMs, () => {
      this.#untilMs = 0;
      this.#timer = undefined;
      this.#onEnd();
    });
    return true;
  }

  /** The URL that asked for the hold no longer belongs to the destination. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#untilMs = 0;
    this.#row = undefined;
  }

  close(): void {
    this.#timer?.cancel();
  }
}
