import { fullWaitMs } from './deferral.ts';

/**
 * With only one active lane, it is not known whether other events wait behind its own. Only a lane with turns
 * of more than half a minute counts as being in their way.
 */
const usualTurnWhenAloneMs = 4_000;

/** A lane that has work. */
interface Active {
  /** Its events are sent as far as there are slots, not put off. */
  readonly isServed: boolean;
  readonly longestTurnMs: number;
}

/**
 * The usual time until a turn: that of the quarter of served lanes that are least behind. If all lanes are
 * equally behind, the worker is the bottleneck and the backlog belongs in Kafka. A lane that puts its events
 * off, such as that of a dead endpoint, is never behind, and shows nothing. A lane that is the only one may
 * keep all others from being read.
 */
export function usualTurnMs(active: readonly Active[]): number {
  const turnsMs = active.filter(({ isServed }) => isServed).map((lane) => lane.longestTurnMs);
  if (turnsMs.length < 2) return usualTurnWhenAloneMs;
  return turnsMs.toSorted((a, b) => a - b)[Math.floor(turnsMs.length / 4)] ?? 0;
}

/** How many times as long a turn must take in this lane as in most other lanes. */
const timesAsLong = 8;
/** For how many ticks. A lane is behind for a moment whenever a fetch brings many records for it. */
const fewestTicks = 2;

/**
 * Whether one lane is behind while others are not. Then its own events, and not a lack of time or slots in
 * this worker, keep the events of other lanes from being read.
 */
export class OddOneOut {
  #ticks = 0;

  get isOne(): boolean {
    return this.#ticks >= fewestTicks;
  }

  /** About once a second. @param usualTurnMs until a turn in lanes that are not behind */
  tick(longestTurnMs: number, usualTurnMs: number): void {
    const mostMs = Math.max(fullWaitMs, timesAsLong * usualTurnMs);
    // The lane counts as odd until it is well below the limit, or the state would flicker.
    this.#ticks = longestTurnMs > (this.isOne ? mostMs / 2 : mostMs) ? this.#ticks + 1 : 0;
  }
}
