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
