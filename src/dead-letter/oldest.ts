import type { IncomingRecord } from '../kafka/record.ts';
import type { Letter } from './letter.ts';

type When = Pick<IncomingRecord, 'timestampMs' | 'partition' | 'offset'>;

/**
 * The oldest letters of a topic, whose partitions come in any order and each in its own: Kafka gives every
 * record of a partition the time at which it was appended.
 */
export class OldestLetters<L extends Letter> {
  readonly #limit: number;
  /** Those that may still bring an older one than are known. */
  readonly #open: Set<number>;
  #letters: L[] = [];
  /** The newest that is kept; later ones are among the oldest no more. */
  #last: When | undefined;

  /** `partitions`: which have records. */
  constructor(limit: number, partitions: Iterable<number>) {
    this.#limit = limit;
    this.#open = new Set(partitions);
  }

  /** Nothing that is still to be read is older. */
  get isComplete(): boolean {
    return this.#open.size === 0;
  }

  /** Whether a record, if it is one of the letters that are looked for, may be among the oldest. */
  mayHold(record: When): boolean {
    if (this.#last === undefined || byAge(record, this.#last) < 0) return true;
    this.#open.delete(record.partition);
    return false;
  }

  add(letter: L): void {
    this.#letters.push(letter);
    // Sorted seldom; one more than is wanted tells that there are more.
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

/** Those of the same millisecond by their places, so that the same command gives the same list. */
function byAge(a: When, b: When): number {
  return a.timestampMs - b.timestampMs || a.partition - b.partition || a.offset - b.offset;
}
