import type { Claim } from './job.ts';
import { WaitingRecords } from './waiting-records.ts';
import type { HeldRecord } from './waiting-records.ts';

/** Records that an operator has recalled, by destination: they wait for their lane, and for their time at the latest. */
export class RecalledRecords {
  readonly #all = new Map<string, Map<Claim, WaitingRecords>>();

  get areSome(): boolean {
    return this.#all.size > 0;
  }

  of(destinationId: string, claim: Claim): WaitingRecords {
    let ofDestination = this.#all.get(destinationId);
    if (ofDestination === undefined) {
      ofDestination = new Map();
      this.#all.set(destinationId, ofDestination);
    }
    let waiting = ofDestination.get(claim);
    if (waiting === undefined) {
      waiting = new WaitingRecords();
      ofDestination.set(claim, waiting);
    }
    return waiting;
  }

  /** The partition moves to another worker. */
  release(claim: Claim): void {
    for (const [destinationId, ofDestination] of this.#all) {
      ofDestination.get(claim)?.release();
      ofDestination.delete(claim);
      if (ofDestination.size === 0) this.#all.delete(destinationId);
    }
  }

  *claims(): Generator<readonly [Claim, WaitingRecords], void, undefined> {
    for (const ofDestination of this.#all.values()) yield* ofDestination;
  }

  /**
   * Passes on what may go, one record of each partition in turn: none is to wait until the lane has worked off all of
   * another one.
   * @param mayGo whether the destination's lane takes a record of the partition before its time
   */
  passOn(
    nowMs: number,
    mayGo: (destinationId: string, claim: Claim) => boolean,
    pass: (held: HeldRecord, claim: Claim) => void,
  ): void {
    for (const [destinationId, ofDestination] of this.#all) {
      for (let passed = true; passed;) {
        passed = false;
        for (const [claim, waiting] of [...ofDestination]) {
          if (waiting.firstDueMs > nowMs && !mayGo(destinationId, claim)) continue;
          passed = true;
          const held = waiting.removeFirst();
          // Behind the others, also for the next time.
          ofDestination.delete(claim);
          if (waiting.size > 0) ofDestination.set(claim, waiting);
          pass(held, claim);
        }
      }
      if (ofDestination.size === 0) this.#all.delete(destinationId);
    }
  }
}
