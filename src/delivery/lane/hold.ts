import type { Clock, Timer } from '../../ops/clock.ts';
import type { Retryable } from '../outcome.ts';

/** For an endpoint that answers 429 and does not say how long. */
const tooManyMs = 1_000;

/** For how long its endpoint wants to be left alone. */
export function wishedMs({ cause, retryAfterMs }: Retryable): number {
  return retryAfterMs ?? (cause === 'status-429' ? tooManyMs : 0);
}

/** Holds that follow one another within this time are said to be one. */
const apartMs = 5_000;

/** The time for which an endpoint asked to be left alone. It said so about itself: that holds a whole lane. */
export class LaneHold {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  /** 0: not held. */
  #untilMs = 0;
  /** Of those in a row; the last one may be over. */
  #row: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return this.#untilMs > 0;
  }

  /** The holds in a row of which one is on, or was just now. */
  rowAt(nowMs: number): { readonly sinceMs: number; readonly untilMs: number } | undefined {
    return this.#row !== undefined && nowMs - this.#row.untilMs < apartMs ? this.#row : undefined;
  }

  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /** False where it is held for as long already. */
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

  /** Whoever asked for it is not sent to any more. */
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
