import type { Clock, SteadyClock } from '../ops/clock.ts';

/** Shorter pauses are saved up, because a timer for each record would cost more than the record. */
const shortestPauseMs = 10;
/** The part of an interruption, such as an outage of Kafka, that may be caught up with in one go. */
const catchUpMs = 100;

/** Allows so many actions a second, evenly. */
export class Pace {
  readonly #intervalMs: number;
  readonly #clock: SteadyClock;
  #nextMs: number;

  constructor(perSecond: number, clock: SteadyClock) {
    this.#intervalMs = 1_000 / perSecond;
    this.#clock = clock;
    this.#nextMs = clock.steadyNow();
  }

  /** Resolves when the next one may happen, or the signal is aborted. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.steadyNow();
    const dueMs = Math.max(this.#nextMs, nowMs - catchUpMs);
    this.#nextMs = dueMs + this.#intervalMs;
    const pauseMs = dueMs - nowMs;
    if (pauseMs >= shortestPauseMs) await pause(this.#clock, pauseMs, signal);
  }
}

/** Resolves after that time, or when the signal is aborted, so that Ctrl-C takes effect at once. */
export async function pause(clock: Clock, pauseMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resume) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resume();
    };
    const timer = clock.after(pauseMs, end);
    signal.addEventListener('abort', end);
  });
}
