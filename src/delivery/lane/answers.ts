import { conditionShownBy } from '../outcome.ts';
import type { Outcome } from '../outcome.ts';

/** What one URL has answered lately. Times are epoch milliseconds. */
export class Answers {
  /** That were no delivery, without one between them. */
  failuresInRow = 0;
  failingSinceMs: number | undefined;
  last: Outcome | undefined;
  lastMs: number | undefined;

  /** A request has ended. What says nothing of the endpoint is left out, but for refusals. */
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
