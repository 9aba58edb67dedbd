/** About a millisecond of work. */
const recordsPerStretch = 128;

/** Working on many records is not one long stretch in which nothing else is done. */
export class Pace {
  #records = 0;

  /** Whether others should have a turn after so many more. */
  isPauseDue(records: number): boolean {
    this.#records += records;
    if (this.#records < recordsPerStretch) return false;
    this.#records = 0;
    return true;
  }
}
