/** About a millisecond of work. */
const recordsPerStretch = 128;

/** Splits work on many records, so that other work gets a turn in between. */
export class Pace {
  #records = 0;

  /** Whether other work should get a turn after `records` more. */
  isPauseDue(records: number): boolean {
    this.#records += records;
    if (this.#records < recordsPerStretch) return false;
    this.#records = 0;
    return true;
  }
}
