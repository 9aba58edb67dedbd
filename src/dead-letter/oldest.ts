import type { IncomingRecord } from '../kafka/record.ts';
import type { Letter } from './letter.ts';

type When = Pick<IncomingRecord, 'timestampMs' | 'partition' | 'offset'>;

/**
 * Collects the oldest letters of a topic. Partitions come in any order, and each in its own order: Kafka
 * gives every record of a partition the time at which it was appended.
 */
export class OldestLetters<L extends Letter> {
  readonly #limit: number;
  /** Partitions that may still bring an older letter than the known ones. */
  readonly #open: Set<number>;
  #letters: L[] = [];
  /** The newest letter that is kept. Later ones are no longer among the oldest. */
  #last: When | undefined;

  /** @param partitions those that have records */
  constructor(limit: number, partitions: Iterable<number>) {
    this.#limit = limit;
    this.#open = new Set(partitions);
  }

  /** No record that is still to be read is older. */
  get isComplete(): boolean {
    return this.#open.size === 0;
  }

  /** Tells whether a record could be among the oldest, if it is one of the wanted letters. */
  mayHold(record: When): boolean {
    if (this.#last === undefined || byAge(record, this.#last) < 0) return true;
    this.#open.delete(record.partition);
    return false;
  }

  add(letter: L): void {
    this.#letters.push(letter);
    // Sorted seldom. One more letter than wanted shows that there are more.
    if (this.#letters.length >= 2 * (this.#limit + 1)) this.#cut();
  }

  /** Oldest first. */
  result(): { readonly letters: readonly L[]; readonly more: boolean } {
    this.#cut();
    const more = this.#letters.length > this.#limit;
    return { letters: this.#letters.slice(0, this.#limit), more };
  }

  #cut(): void {
    this.#letters.sort((a, b) => byAge(a.record, b.record));
    if (this.#letters.length <= this.#limit) return;
    this.#letters = this.#letters.slice(0, this.#limit + 1);
    this.#last = this.#letters.at(-1)?.record;
  }
}

/** Letters of the same millisecond are ordered by place, so that the same command gives the same list. */
function byAge(a: When, b: When): number {
  return a.timestampMs - b.timestampMs || a.partition - b.partition || a.offset - b.offset;
}
