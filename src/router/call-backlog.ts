import { Backlog } from './backlog.ts';

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

  /** Whether a live call waits. */
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
