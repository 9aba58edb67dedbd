import type { SteadyClock, Timer } from '../../ops/clock.ts';

/** What can run out of time. The links belong to the list below. */
export interface Timed {
  deadlineMs: number;
  earlier: Timed | undefined;
  later: Timed | undefined;
  onDeadline(): void;
}

/** Deadlines this close together share one wake-up. */
const granularityMs = 20;

/**
 * One timer for all deadlines that are equally far away when they are added: those of attempts, and those of
 * idle connections. The order in which they start is the order in which they end, so a linked list does what
 * a timer wheel would: adding and removing cost two assignments, and nothing is allocated.
 */
export class Deadlines {
  readonly #clock: SteadyClock;
  readonly #timeoutMs: number;
  #first: Timed | undefined;
  #last: Timed | undefined;
  #timer: Timer | undefined;

  constructor(clock: SteadyClock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** `nowMs` is the clock's steady one. */
  add(timed: Timed, nowMs: number): void {
    timed.deadlineMs = nowMs + this.#timeoutMs;
    timed.earlier = this.#last;
    timed.later = undefined;
    if (this.#last === undefined) this.#first = timed;
    else this.#last.later = timed;
    this.#last = timed;
    this.#timer ??= this.#clock.after(this.#timeoutMs, this.#expire);
  }

  /** Once per `add`, unless its deadline has been called. */
  remove(timed: Timed): void {
    if (timed.earlier === undefined) this.#first = timed.later;
    else timed.earlier.later = timed.later;
    if (timed.later === undefined) this.#last = timed.earlier;
    else timed.later.earlier = timed.earlier;
    timed.earlier = undefined;
    timed.later = undefined;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #expire = (): void => {
    const nowMs = this.#clock.steadyNow();
    // The spent timer stays set meanwhile, so that what `onDeadline` adds does not arm another.
    while (this.#first !== undefined && this.#first.deadlineMs <= nowMs) {
      const timed = this.#first;
      this.remove(timed);
      timed.onDeadline();
    }
    this.#timer = undefined;
    if (this.#first === undefined) return;
    const leftMs = Math.max(this.#first.deadlineMs - nowMs, granularityMs);
    this.#timer = this.#clock.after(leftMs, this.#expire);
  };
}
