import type { Clock, Timer } from '../ops/clock.ts';
import type { Claim } from './job.ts';

/** What waits here: an event, or several in one record. */
export interface Held {
  readonly claim: Claim;
  /** For a long wait: lets go of the fetch response that it came with. */
  detach(): void;
}

/** Longer timers are split: a clock that was set, or a suspended machine, is noticed in time. */
const maxTimerMs = 60_000;

/**
 * Holds the records of retry topics until they are due. A partition's records wait in an order of their
 * own, because due times of one tier differ by a few per cent.
 */
export class DueGate<T extends Held> {
  readonly #clock: Clock;
  readonly #release: (held: T) => void;
  readonly #partitions = new Map<Claim, WaitingPartition<T>>();

  constructor(clock: Clock, release: (held: T) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  /** Releases it when it is due; at once if it is. */
  add(held: T, dueMs: number): void {
    if (dueMs <= this.#clock.now()) {
      this.#release(held);
      return;
    }
    held.detach();
    let partition = this.#partitions.get(held.claim);
    if (partition === undefined) {
      partition = new WaitingPartition(this.#clock, this.#release);
      this.#partitions.set(held.claim, partition);
    }
    partition.add({ held, dueMs });
  }

  /** The partition is somebody else's now. */
  drop(claim: Claim): void {
    this.#partitions.get(claim)?.close();
    this.#partitions.delete(claim);
  }

  /** How many records wait, by topic. */
  waiting(): Map<string, number> {
    const topics = new Map<string, number>();
    for (const [{ topic }, { size }] of this.#partitions)
      topics.set(topic, (topics.get(topic) ?? 0) + size);
    return topics;
  }

  close(): void {
    for (const partition of this.#partitions.values()) partition.close();
    this.#partitions.clear();
  }
}

interface Entry<T> {
  readonly held: T;
  readonly dueMs: number;
}

/** A binary heap by due time, and a timer for its top. */
class WaitingPartition<T extends Held> {
  readonly #clock: Clock;
  readonly #release: (held: T) => void;
  readonly #heap: Entry<T>[] = [];
  #timer: Timer | undefined;
  #timerDueMs = Infinity;

  constructor(clock: Clock, release: (held: T) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  get size(): number {
    return this.#heap.length;
  }

  get firstDueMs(): number {
    return this.#heap[0]?.dueMs ?? Infinity;
  }

  add(entry: Entry<T>): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.dueMs <= entry.dueMs) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
    if (entry.dueMs < this.#timerDueMs) this.#arm();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDueMs = this.firstDueMs;
    if (this.#timerDueMs === Infinity) return;
    const leftMs = Math.max(0, this.#timerDueMs - this.#clock.now());
    this.#timer = this.#clock.after(Math.min(leftMs, maxTimerMs), () => {
      const nowMs = this.#clock.now();
      while (this.firstDueMs <= nowMs) this.#release(this.#removeFirst());
      this.#arm();
    });
  }

  #removeFirst(): T {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) throw new RangeError('nothing waits');
    if (heap.length > 0) this.#sink(last);
    return first.held;
  }

  /** Puts the entry in the place of the top and lets it sink to where it belongs. */
  #sink(entry: Entry<T>): void {
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
