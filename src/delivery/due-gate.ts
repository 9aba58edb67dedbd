import type { Clock, Timer } from '../ops/clock.ts';
import { RecordShelf, takeDown } from './held-record.ts';
import type { HeldRecord } from './held-record.ts';
import type { Claim, TakenRecord } from './job.ts';

/** Longer timers are split, so that a clock that was set, or a suspended machine, is noticed in time. */
const maxTimerMs = 60_000;
/**
 * Least time between two checks for due records. A timer for each record would cost as much as reading the
 * record.
 */
const minTimerMs = 20;

/**
 * Holds the records of retry topics until they are due. Each partition has a heap of its own, because due
 * times within one tier differ by a few per cent.
 */
export class DueGate {
  readonly #clock: Clock;
  readonly #onDue: (record: TakenRecord, claim: Claim, dueMs: number) => void;
  readonly #partitions = new Map<Claim, WaitingRecords>();
  #timer: Timer | undefined;
  #timerDueMs = Infinity;

  /** @param onDue gets each record with its due time */
  constructor(clock: Clock, onDue: (record: TakenRecord, claim: Claim, dueMs: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Keeps a copy of the record, and passes it on when it is due. */
  hold(record: TakenRecord, claim: Claim, dueMs: number): void {
    let partition = this.#partitions.get(claim);
    if (partition === undefined) {
      partition = new WaitingRecords();
      this.#partitions.set(claim, partition);
    }
    partition.add(record, dueMs);
    if (dueMs < this.#timerDueMs) this.#arm(dueMs, 0);
  }

  /** The partition moves to another worker. */
  release(claim: Claim): void {
    const partition = this.#partitions.get(claim);
    this.#partitions.delete(claim);
    partition?.release();
  }

  /** How many records wait, by topic. */
  waiting(): Map<string, number> {
    const topics = new Map<string, number>();
    for (const [{ topic }, { size }] of this.#partitions)
      topics.set(topic, (topics.get(topic) ?? 0) + size);
    return topics;
  }

  /** Passes nothing on anymore. The records held are released. */
  close(): void {
    this.#timer?.cancel();
    for (const claim of [...this.#partitions.keys()]) this.release(claim);
  }

  #arm(dueMs: number, earliestMs: number): void {
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    const leftMs = Math.max(dueMs - this.#clock.now(), earliestMs);
    this.#timer = this.#clock.after(Math.min(leftMs, maxTimerMs), this.#look);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const nowMs = this.#clock.now();
    let firstDueMs = Infinity;
    for (const [claim, partition] of this.#partitions) {
      while (partition.firstDueMs <= nowMs) {
        const held = partition.removeFirst();
        this.#onDue(takeDown(held, claim), claim, held.dueMs);
      }
      firstDueMs = Math.min(firstDueMs, partition.firstDueMs);
    }
    this.#timerDueMs = Infinity;
    if (firstDueMs !== Infinity) this.#arm(firstDueMs, minTimerMs);
  };
}

/** A partition's records: a binary heap by due time. */
class WaitingRecords {
  readonly #heap: HeldRecord[] = [];
  readonly #shelf = new RecordShelf();

  get size(): number {
    return this.#heap.length;
  }

  get firstDueMs(): number {
    return this.#heap[0]?.dueMs ?? Infinity;
  }

  add(record: TakenRecord, dueMs: number): void {
    const heap = this.#heap;
    const held = this.#shelf.put(record, dueMs);
    let index = heap.length;
    heap.push(held);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.dueMs <= dueMs) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = held;
  }

  release(): void {
    for (const { owner, slot } of this.#heap) owner.release(slot);
  }

  removeFirst(): HeldRecord {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) throw new RangeError('nothing waits');
    if (heap.length > 0) this.#sink(last);
    return first;
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
