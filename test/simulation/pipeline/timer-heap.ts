/** Something that happens at a time; of two at the same time, the one that was added first. */
export interface Due {
  atMs: number;
  order: number;
}

/** What is to happen, the earliest first. */
export class TimerHeap<T extends Due> {
  /** In the heap's order: the first one is the earliest. */
  readonly items: T[] = [];
  #added = 0;

  get first(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    item.order = this.#added++;
    this.items.push(item);
    this.#rise(this.items.length - 1);
  }

  pop(): void {
    const last = this.items.pop();
    if (last === undefined || this.items.length === 0) return;
    this.items[0] = last;
    this.#sink(0);
  }

  /** After times have changed. */
  sort(): void {
    this.items.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  }

  #rise(from: number): void {
    for (let index = from; index > 0;) {
      const above = (index - 1) >> 1;
      if (!this.#isBefore(index, above)) return;
      this.#swap(index, above);
      index = above;
    }
  }

  #sink(from: number): void {
    for (let index = from; ;) {
      let least = index;
      for (const below of [2 * index + 1, 2 * index + 2])
        if (below < this.items.length && this.#isBefore(below, least)) least = below;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.items[a], this.items[b]];
    if (first === undefined || second === undefined) return false;
    return first.atMs < second.atMs || (first.atMs === second.atMs && first.order < second.order);
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.items[a], this.items[b]];
    if (first === undefined || second === undefined) return;
    this.items[a] = second;
    this.items[b] = first;
  }
}
