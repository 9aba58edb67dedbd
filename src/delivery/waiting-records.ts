import { RecordShelf } from './held-record.ts';
import type { HeldRecord } from './held-record.ts';
import type { TakenRecord } from './job.ts';

/** Records that wait for their due time: a binary heap. */
export class WaitingRecords {
  #heap: HeldRecord[] = [];
  readonly #shelf = new RecordShelf();
  /** How many of them leave the window of their partition to others. */
  aside = 0;

  get size(): number {
    return this.#heap.length;
  }

  get firstDueMs(): number {
    return this.#heap[0]?.dueMs ?? Infinity;
  }

  /** In no order. */
  all(): Iterable<HeldRecord> {
    return this.#heap;
  }

  /** Keeps a copy. */
  add(record: TakenRecord, dueMs: number): HeldRecord {
    const held = this.#shelf.put(record, dueMs);
    this.put(held);
    return held;
  }

  put(held: HeldRecord): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(held);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.dueMs <= held.dueMs) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = held;
  }

  removeFirst(): HeldRecord {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) throw new RangeError('nothing waits');
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  /** Removes those that are asked for. */
  removeWhere(isWanted: (held: HeldRecord) => boolean): HeldRecord[] {
    const [wanted, others]: [HeldRecord[], HeldRecord[]] = [[], []];
    for (const held of this.#heap) (isWanted(held) ? wanted : others).push(held);
    // In the order of a heap a part of it is none.
    this.#heap = others.sort((one, other) => one.dueMs - other.dueMs);
    return wanted;
  }

  release(): void {
    for (const { owner, slot } of this.#heap) owner.release(slot);
  }

  /** Puts the entry in the place of the top and lets it sink to where it belongs. */
  #sink(entry: HeldRecord): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const useRight = right !== undefined && left !== undefined && right.dueMs < left.dueMs;
      const below = useRight ? right : left;
      if (below === undefined || below.dueMs >= entry.dueMs) break;
      heap[index] = below;
      index = 2 * index + (useRight ? 2 : 1);
    }
    heap[index] = entry;
  }
}
