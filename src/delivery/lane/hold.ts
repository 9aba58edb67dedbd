import type { Clock, Timer } from '../../ops/clock.ts';

/** The time for which an endpoint asked to be left alone. It said so about itself: that holds a whole lane. */
export class LaneHold {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  /** 0: not held. */
  #untilMs = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return this.#untilMs > 0;
  }

  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /** False where it is held for as long already. */
  extend(nowMs: number, forMs: number): boolean {
    if (nowMs + forMs <= this.#untilMs) return false;
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
  }

  close(): void {
    this.#timer?.cancel();
  }
}
