import { formatTable } from '../resources/table.ts';
import type { DeadLetter } from './dead-letter.ts';
import { timeText } from './texts.ts';

/** The number of dead letters of one day, destination and reason. */
export interface SummaryRow {
  /** In UTC: `2026-11-24`. */
  readonly day: string;
  readonly destination: string;
  readonly reason: string;
  readonly count: number;
  /** The letters among these that were sent again. */
  readonly sentAgain: number;
}

/** Counts dead letters, of which there may be millions. */
export class LetterSummary {
  readonly #rows = new Map<string, SummaryRow>();

  add({ record, destinationId: destination, reason }: DeadLetter, isSentAgain: boolean): void {
    const day = timeText(record.timestampMs).slice(0, 'yyyy-mm-dd'.length);
    const key = JSON.stringify([day, destination, reason]);
    const { count = 0, sentAgain = 0 } = this.#rows.get(key) ?? {};
    this.#rows.set(key, {
      day,
      destination,
      reason,
      count: count + 1,
      sentAgain: sentAgain + (isSentAgain ? 1 : 0),
    });
  }

  /** The latest day first, and within a day the largest group. */
  rows(): readonly SummaryRow[] {
    return [...this.#rows.values()].sort(
      (a, b) => compare(b.day, a.day) || b.count - a.count || compare(a.destination, b.destination),
    );
  }

  /** @param width see `formatTable` */
  present(width?: number): string {
    const rows = this.rows().map(({ day, destination, reason, count, sentAgain }) => [
      day,
      destination,
      reason,
      String(count),
      String(sentAgain),
    ]);
    return formatTable(['DAY', 'DESTINATION', 'REASON', 'EVENTS', 'SENT AGAIN'], rows, width);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
