import { identityText } from '../../event/uid.ts';
import type { Destination } from '../../resources/resource.ts';
import type { LaneCounts, LaneState } from '../metrics.ts';
import type { Providers } from '../reachability.ts';
import type { Over } from '../verdict.ts';
import type { Lane } from './lane.ts';

/** Longer than the longest deferral behind a breaker, which is 16 minutes. */
const laneUnusedMs = 20 * 60_000;
const sweepMs = 60_000;

/** A worker's lanes. Of tens of thousands, most are at rest and cost nothing until they are used again. */
export class Lanes implements Providers {
  /** The lanes of present destinations, by id. */
  readonly all: Map<string, Lane> = new Map();
  /** The lanes that have to be ticked. */
  readonly awake: Set<Lane> = new Set();
  /**
   * Lanes that send nothing now, by id and uid. What they have sent counts when something is sent again.
   */
  readonly #ended = new Map<string, Lane>();
  #sweptMs: number;

  /** @param nowMs by the steady clock, as everywhere here */
  constructor(nowMs: number) {
    this.#sweptMs = nowMs;
  }

  /** Some lane has nothing to do, and what came for it would be sent. One at rest has no trouble. */
  get isSomeIdle(): boolean {
    if (this.awake.size < this.all.size) return true;
    for (const { isActive, isServed } of this.awake) if (!isActive && isServed) return true;
    return false;
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

  add(id: string, lane: Lane): Lane {
    this.all.set(id, lane);
    this.awake.add(lane);
    return lane;
  }

  /** Nothing is sent to the destination from now on. */
  end(id: string, lane: Lane, because: Over): void {
    lane.end(because);
    this.#remove(id, lane);
    this.#ended.set(identityText(lane.destination), lane);
  }

  /** Something is sent to the destination again: by its former lane, if what that has sent still counts. */
  again(destination: Destination): Lane | undefined {
    const identity = identityText(destination);
    const former = this.#ended.get(identity);
    if (former === undefined) return undefined;
    this.#ended.delete(identity);
    former.again(destination);
    return this.add(destination.id, former);
  }

  /**
   * The destination has a new version, or something is sent to it again. Then what its former lane has in flight must
   * not end as if nothing were.
   */
  update(destination: Destination): void {
    const lane = this.use(destination.id);
    if (lane === undefined) this.again(destination);
    else lane.update(destination);
  }

  used(): Set<string> {
    const providers = new Set<string>();
    for (const { endpoints } of this.all.values())
      for (const provider of endpoints.providers) providers.add(provider);
    return providers;
  }

  waitingFor(): Set<string> {
    const waiting = new Set<string>();
    for (const { queued, endpoints } of this.awake)
      if (queued > 0) for (const provider of endpoints.providers) waiting.add(provider);
    return waiting;
  }

  count(): LaneCounts {
    const breakers = { closed: 0, open: 0, 'half-open': 0 };
    const lanesByState = { held: 0, open: 0, slow: 0, limited: 0, waiting: 0, free: 0 };
    let queued = 0;
    let mostQueued = 0;
    for (const lane of this.all.values()) {
      queued += lane.queued;
      mostQueued = Math.max(mostQueued, lane.queued);
      lanesByState[stateOf(lane)] += 1;
      lane.endpoints.count(breakers);
    }
    return { queued, mostQueued, lanesByState, breakers };
  }

  /** Must be called after the lane's tick. */
  letRest(lane: Lane): void {
    if (lane.rest()) this.awake.delete(lane);
  }

  /**
   * Closes those that nothing needs any longer; to be called after each tick.
   * @returns the ids of destinations whose lanes nothing has used for long; these are looked for once a minute
   */
  sweep(nowMs: number): string[] {
    for (const lane of this.#ended.values()) if (lane.isForgettable) this.#forget(lane);
    if (nowMs - this.#sweptMs < sweepMs) return [];
    this.#sweptMs = nowMs;
    const unused = [...this.all].filter(([, lane]) => lane.isUnusedSince(nowMs - laneUnusedMs));
    return unused.map(([id, lane]) => {
      this.#forget(lane);
      return id;
    });
  }

  close(): void {
    for (const lane of [...this.all.values(), ...this.#ended.values()]) this.#forget(lane);
  }

  #forget(lane: Lane): void {
    lane.close();
    const { destination } = lane;
    // Another destination may have its id since.
    if (this.all.get(destination.id) === lane) this.#remove(destination.id, lane);
    else this.#ended.delete(identityText(destination));
  }

  #remove(id: string, lane: Lane): void {
    this.all.delete(id);
    this.awake.delete(lane);
  }
}

/** The reason why a lane takes no more. */
function stateOf({ hold, endpoints, isSlow, waiting, rate }: Lane): LaneState {
  if (hold.isOn) return 'held';
  if (endpoints.availability !== 'yes' || endpoints.login === 'away') return 'open';
  if (isSlow) return 'slow';
  if (waiting.size === 0) return 'free';
  return rate.isReady ? 'waiting' : 'limited';
}
