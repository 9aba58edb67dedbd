import type { SteadyClock, Timer } from '../../ops/clock.ts';

/** An item with a deadline. The links belong to the list below. */
export interface Timed {
  deadlineMs: number;
  earlier: Timed | undefined;
  later: Timed | undefined;
  onDeadline(): void;
}

/** Deadlines this close together share one wake-up. */
const granularityMs = 20;

/**
 * One timer for all deadlines that have the same length, such as those of attempts.
 * Items end in the order in which they start, so a linked list does the work of a timer wheel: adding and
 * removing cost two assignments, and nothing is allocated.
 */
export class Deadlines {
  readonly #clock: SteadyClock;
  readonly timeoutMs: number;
  #first: Timed | undefined;
  #last: Timed | undefined;
  #timer: Timer | undefined;

  constructor(clock: SteadyClock, timeoutMs: number) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
  }

  /** @param nowMs by the steady clock */
  add(timed: Timed, nowMs: number): void {
    timed.deadlineMs = nowMs + this.timeoutMs;
    timed.earlier = this.#last;
    timed.later = undefined;
    if (this.#last === undefined) this.#first = timed;
    else this.#last.later = timed;
    this.#last = timed;
    this.#timer ??= this.#clock.after(this.timeoutMs, this.#expire);
  }

  /** Must be called once for each `add`, unless the deadline has passed. */
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
    // The expired timer stays set meanwhile, so that items that `onDeadline` adds do not start another one.
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

/** A list for each length of deadlines, made when the first one of that length is asked for. */
export class DeadlinesByLength {
  readonly #clock: SteadyClock;
  readonly #lists = new Map<number, Deadlines>();

  constructor(clock: SteadyClock) {
    this.#clock = clock;
  }

  of(timeoutMs: number): Deadlines {
    const known = this.#lists.get(timeoutMs);
    if (known !== undefined) return known;
    const list = new Deadlines(this.#clock, timeoutMs);
    this.#lists.set(timeoutMs, list);
    return list;
  }

  close(): void {
    for (const list of this.#lists.values()) list.close();
  }
}

/**
 * A clock whose timers fire only after pending input was read. After a stall (a suspended machine, a used-up
 * share of CPU) Node may call overdue timers before it reads its sockets, and answers that came in time would
 * count as missing.
 */
export function unhurried(clock: SteadyClock): SteadyClock {
  return {
    now: () => clock.now(),
    steadyNow: () => clock.steadyNow(),
    after: (delayMs, callback) => {
      let afterReading: NodeJS.Immediate | undefined;
      const timer = clock.after(delayMs, () => {
        afterReading = setImmediate(callback);
      });
      return {
        cancel: () => {
          timer.cancel();
          clearImmediate(afterReading);
        },
      };
    },
  };
}
