import { fullWaitMs } from './deferral.ts';

/** A turn takes so many times as long here as in most other lanes. */
const timesAsLong = 8;
/** For so many ticks; a lane is behind for a moment whenever a fetch brings much for it. */
const fewestTicks = 2;

/**
 * Whether one lane is behind while others are not: then its events, and not too little time or too few slots
 * of this worker, keep those of others from being read.
 */
export class OddOneOut {
  #ticks = 0;

  get isOne(): boolean {
    return this.#ticks >= fewestTicks;
  }

  /** About once a second. @param usualTurnMs until a turn in lanes that are not behind */
  tick(longestTurnMs: number, usualTurnMs: number): void {
    const mostMs = Math.max(fullWaitMs, timesAsLong * usualTurnMs);
    // It stays one until it is well below that, or it would be one by turns.
    this.#ticks = longestTurnMs > (this.isOne ? mostMs / 2 : mostMs) ? this.#ticks + 1 : 0;
  }
}
