import type { Clock } from '../ops/clock.ts';
import { ProblemError } from './problem.ts';

const mostRemembered = 10_000;

/** A limit of requests a second for each caller. Callers may send one second's worth at once. */
export class CallLimit {
  readonly #perSecond: number;
  readonly #clock: Clock;
  /** The time by which what each has sent would have been sent at an even pace, the last asked last. */
  readonly #paidUntilMs = new Map<string, number>();

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /**
   * @param sentence what a caller beyond the limit is told
   * @throws ProblemError 429, with the whole seconds after which one more is allowed
   */
  take(caller: string, sentence: string): void {
    const nowMs = this.#clock.now();
    const stepMs = 1_000 / this.#perSecond;
    // A clock that was set back must not refuse for as long as it was set back.
    const paidMs = Math.min(
      Math.max(nowMs, this.#paidUntilMs.get(caller) ?? nowMs),
      nowMs + Math.max(1_000, stepMs),
    );
    const waitMs = paidMs + stepMs - nowMs - Math.max(1_000, stepMs);
    if (waitMs > 0)
      throw new ProblemError(429, sentence, { retryAfterS: Math.ceil(waitMs / 1_000) });
    this.#paidUntilMs.delete(caller);
    this.#paidUntilMs.set(caller, paidMs + stepMs);
    const [oldest] = this.#paidUntilMs.keys();
    if (oldest !== undefined && this.#paidUntilMs.size > mostRemembered)
      this.#paidUntilMs.delete(oldest);
  }
}
