/** How far an import is. Lines are begun in their order, and settled in any. */
export class ImportProgress {
  sent = 0;
  /** Not sent, for a reason of their own. */
  bad = 0;
  readonly #begun = new Set<number>();
  #lastSettled = 0;

  begun(line: number): void {
    this.#begun.add(line);
  }

  lineSent(line: number): void {
    this.sent += 1;
    this.#settled(line);
  }

  lineBad(line: number): void {
    this.bad += 1;
    this.#settled(line);
  }

  /** Where an import that was ended can go on, so that no line is left out. */
  get placeText(): string {
    const last = this.#lastSettled;
    const [open = last + 1] = this.#begun;
    const ahead = last > open ? `; of the lines up to ${last}, some were sent as well` : '';
    return `after line ${open - 1}${ahead}`;
  }

  #settled(line: number): void {
    this.#begun.delete(line);
    this.#lastSettled = Math.max(this.#lastSettled, line);
  }
}
