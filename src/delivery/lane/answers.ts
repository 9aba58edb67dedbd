import { conditionShownBy } from '../outcome.ts';
import type { Outcome } from '../outcome.ts';

/** The recent answers of one URL. Times are epoch milliseconds. */
export class Answers {
  /** Failures without a success between them. */
  failuresInRow = 0;
  failingSinceMs: number | undefined;
  last: Outcome | undefined;
  lastMs: number | undefined;

  /**
   * Records the end of a request. Outcomes that say nothing about the endpoint are left out, except refusals.
   */
  add(outcome: Outcome, nowMs: number): void {
    if (outcome.kind !== 'delivered' && conditionShownBy(outcome) === 'unknown') return;
    this.last = outcome;
    this.lastMs = nowMs;
    if (outcome.kind === 'delivered') {
      this.failuresInRow = 0;
      this.failingSinceMs = undefined;
    } else {
      this.failuresInRow += 1;
      this.failingSinceMs ??= nowMs;
    }
  }
}
