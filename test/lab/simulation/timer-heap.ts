/** Something that happens at a time; of two at the same time, the one of the lesser order. */
export interface Due {
  atMs: number;
  order: number;
}

/** What is to happen, the earliest first. */
export class TimerHeap<T extends Due> {
  readonly #items: T[] = [];

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let index = items.length;
    for (let above = items[(index - 1) >> 1]; above !== undefined && isBefore(item, above);) {
      items[index] = above;
      index = (index - 1) >> 1;
      above = items[(index - 1) >> 1];
    }
    items[index] = item;
  }

  pop(): void {
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.#sink(last);
  }

  /** Puts it where it belongs, beginning in the first place, which is free. */
  #sink(item: T): void {
    const items = this.#items;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      let next = items[below];
      if (next === undefined) break;
      const other = items[below + 1];
      if (other !== undefined && isBefore(other, next)) {
        below += 1;
        next = other;
      }
      if (isBefore(item, next)) break;
      items[index] = next;
      index = below;
    }
    items[index] = item;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
