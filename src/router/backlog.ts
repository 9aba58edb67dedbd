/** First in, first out. */
export class Backlog<T> {
  #items: T[] = [];
  #next = 0;

  get size(): number {
    return this.#items.length - this.#next;
  }

  /** The next one to be shifted. */
  get first(): T | undefined {
    return this.#items[this.#next];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#next];
    this.#next += 1;
    // Array.shift would move all items each time. Finished items must not stay in memory either.
    if (this.#next * 2 >= this.#items.length) this.#reset(this.#items.slice(this.#next));
    return item;
  }

  /** Puts items before all others. */
  putBack(items: readonly T[]): void {
    this.#reset([...items, ...this.#items.slice(this.#next)]);
  }

  /** Removes and returns the items for which `isGone` holds, in order. */
  takeOut(isGone: (item: T) => boolean): T[] {
    const items = this.#items.slice(this.#next);
    this.#reset(items.filter((item) => !isGone(item)));
    return items.filter(isGone);
  }

  #reset(items: T[]): void {
    this.#items = items;
    this.#next = 0;
  }
}

/**
 * While both kinds wait, one of so many calls is a patient one, so that a busy router does not starve them.
 */
const shareOfPatient = 16;

/** Records to be routed: those of live calls before those of syncs, which are patient. */
export class CallBacklog<T> {
  readonly #isPatient: (item: T) => boolean;
  readonly #live = new Backlog<T>();
  readonly #patient = new Backlog<T>();
  #turns = 0;

  constructor(isPatient: (item: T) => boolean) {
    this.#isPatient = isPatient;
  }

  get size(): number {
    return this.#live.size + this.#patient.size;
  }

  /** True if a live call waits. */
  get isUrgent(): boolean {
    return this.#live.size > 0;
  }

  push(item: T): void {
    this.#of(item).push(item);
  }

  /** @param takesPatient whether a patient record may be taken if no live one waits */
  shift(takesPatient: boolean): T | undefined {
    if (this.#live.size === 0) return takesPatient ? this.#patient.shift() : undefined;
    this.#turns = (this.#turns + 1) % shareOfPatient;
    const isPatientsTurn = this.#turns === 0 && this.#patient.size > 0;
    return isPatientsTurn ? this.#patient.shift() : this.#live.shift();
  }

  /** Puts records of one topic back, before all others. */
  putBack(items: readonly T[]): void {
    const [first] = items;
    if (first !== undefined) this.#of(first).putBack(items);
  }

  /** Removes and returns the records for which `isGone` holds. */
  takeOut(isGone: (item: T) => boolean): T[] {
    return [...this.#live.takeOut(isGone), ...this.#patient.takeOut(isGone)];
  }

  #of(item: T): Backlog<T> {
    return this.#isPatient(item) ? this.#patient : this.#live;
  }
}
