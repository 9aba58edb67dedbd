import type { SteadyClock, Timer } from '../../src/ops/clock.ts';

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
  cancelled: boolean;
}

/** Time that stands still until it is told to pass; hours take milliseconds. */
export class SimulatedClock implements SteadyClock {
  readonly #startMs: number;
  #nowMs: number;
  #setByMs = 0;
  #order = 0;
  readonly #heap: Entry[] = [];

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs + this.#setByMs;
  }

  steadyNow(): number {
    return this.#nowMs - this.#startMs;
  }

  /** Somebody sets it: forward, or back where negative. No time passes by that. */
  set(byMs: number): void {
    this.#setByMs += byMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    // Whole milliseconds, like the real one, and a part of one is not lost in a time of day.
    const atMs = Math.ceil(this.#nowMs + Math.ceil(Math.max(0, delayMs)));
    const entry: Entry = { atMs, order: this.#order++, callback, cancelled: false };
    this.#push(entry);
    return {
      cancel: () => {
        entry.cancelled = true;
      },
    };
  }

  /**
   * Lets so much time pass, and everything happen that falls into it. After each thing that happens there is a
   * turn of the event loop, so that promises are settled, like those of the breaker library. Awaiting some
   * would do as well, but the test runner takes note of each promise, which took most of a simulation's time.
   */
  async pass(durationMs: number): Promise<void> {
    const untilMs = this.#nowMs + durationMs;
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        try {
          if (this.#callNext(untilMs)) setImmediate(next);
          else resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      setImmediate(next);
    });
    this.#nowMs = untilMs;
  }

  /** False: nothing is left until then. */
  #callNext(untilMs: number): boolean {
    for (;;) {
      const entry = this.#heap[0];
      if (entry === undefined || entry.atMs > untilMs) return false;
      this.#pop();
      if (entry.cancelled) continue;
      this.#nowMs = entry.atMs;
      entry.callback();
      return true;
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    heap.push(entry);
    let index = heap.length - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (!isBefore(heap[index], heap[above])) break;
      this.#swap(index, above);
      index = above;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    this.#swap(0, heap.length - 1);
    heap.pop();
    let index = 0;
    for (;;) {
      let first = index;
      for (const below of [2 * index + 1, 2 * index + 2])
        if (below < heap.length && isBefore(heap[below], heap[first])) first = below;
      if (first === index) return;
      this.#swap(index, first);
      index = first;
    }
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}

function isBefore(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Reproducible chance (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
