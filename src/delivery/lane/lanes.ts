import type { Lane } from './lane.ts';

/** Longer than the longest deferral behind a breaker, which is 16 minutes. */
const laneUnusedMs = 20 * 60_000;
const sweepMs = 60_000;

/** A worker's lanes. Of tens of thousands, most are at rest and cost nothing until they are used again. */
export class Lanes {
  /** By destination id. */
  readonly all: Map<string, Lane> = new Map();
  /** Those that have to be ticked. */
  readonly awake: Set<Lane> = new Set();
  #sweptMs: number;

  constructor(nowMs: number) {
    this.#sweptMs = nowMs;
  }

  /** The lane of a destination, awake. */
  use(id: string): Lane | undefined {
    const lane = this.all.get(id);
    if (lane?.isAtRest === true) {
      lane.wake();
      this.awake.add(lane);
    }
    return lane;
  }

  add(id: string, lane: Lane): void {
    this.all.set(id, lane);
    this.awake.add(lane);
  }

  remove(id: string, lane: Lane): void {
    this.all.delete(id);
    this.awake.delete(lane);
  }

  /** After its tick. */
  letRest(lane: Lane): void {
    if (lane.rest()) this.awake.delete(lane);
  }

  /** At most once a minute: those that nothing has used for long. */
  unused(nowMs: number): [string, Lane][] {
    if (nowMs - this.#sweptMs < sweepMs) return [];
    this.#sweptMs = nowMs;
    return [...this.all].filter(([, lane]) => lane.isUnusedSince(nowMs - laneUnusedMs));
  }
}
