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

/** What a worker has that nobody uses. */
export interface Idle {
  readonly areSlots: boolean;
  /** Some lane has nothing to do. What comes for it is sent at once if there are slots. */
  readonly isSomeLane: boolean;
}

/** Times until a turn in lanes that are not behind, with which a lane is compared. */
export interface UsualTurns {
  readonly freshMs: number;
  /**
   * For events that have come back. Whoever puts these off puts off the same ones again and again, so that retry
   * topics fill with records that are not due.
   */
  readonly returnedMs: number;
}

/** No lane is the odd one out. */
export const notCompared: UsualTurns = { freshMs: Infinity, returnedMs: Infinity };

/**
 * The usual time until a turn: that of the quarter of served lanes that are least behind. If all lanes are
 * equally behind, the worker is the bottleneck and the backlog belongs in Kafka. A lane that puts its events
 * off, such as that of a dead endpoint, is never behind, and shows nothing. A lane that is the only one may
 * keep all others from being read.
 *
 * A worker with idle slots is no bottleneck: lanes that are behind are so by themselves, however many they are. Then
 * the lane that is least behind counts, also one that has nothing to do, because its events may wait behind theirs.
 */
export function usualTurns(active: readonly Active[], idle: Idle): UsualTurns {
  const turnsMs = active
    .filter(({ isServed }) => isServed)
    .map((lane) => lane.longestTurnMs)
    .sort((a, b) => a - b);
  if (turnsMs.length < 2)
    return { freshMs: usualTurnWhenAloneMs, returnedMs: usualTurnWhenAloneMs };
  const returnedMs = turnsMs[Math.floor(turnsMs.length / 4)] ?? 0;
  if (!idle.areSlots) return { freshMs: returnedMs, returnedMs };
  return { freshMs: idle.isSomeLane ? 0 : (turnsMs[0] ?? 0), returnedMs };
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
