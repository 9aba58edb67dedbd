import { Backlog } from './backlog.ts';

/** While both wait, one of so many is one that can wait: a router that is never done must not starve them. */
const shareOfPatient = 16;

/** Records to be routed: those of syncs, which have time, behind those of live calls. */
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

  /** Whether a live one waits. */
  get isUrgent(): boolean {
    return this.#live.size > 0;
  }

  push(item: T): void {
    this.#of(item).push(item);
  }

  /** `takesPatient`: whether one that can wait may be taken where no live one is there. */
  shift(takesPatient: boolean): T | undefined {
    if (this.#live.size === 0) return takesPatient ? this.#patient.shift() : undefined;
    this.#turns = (this.#turns + 1) % shareOfPatient;
    const isPatientsTurn = this.#turns === 0 && this.#patient.size > 0;
    return isPatientsTurn ? this.#patient.shift() : this.#live.shift();
  }

  /** All of one topic, before all others. */
  putBack(items: readonly T[]): void {
    const [first] = items;
    if (first !== undefined) this.#of(first).putBack(items);
  }

  /** Takes out what is gone. */
  takeOut(isGone: (item: T) => boolean): T[] {
    return [...this.#live.takeOut(isGone), ...this.#patient.takeOut(isGone)];
  }

  #of(item: T): Backlog<T> {
    return this.#isPatient(item) ? this.#patient : this.#live;
  }
}
