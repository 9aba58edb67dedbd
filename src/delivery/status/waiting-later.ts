import type { Claim } from '../job.ts';

/** What waits in retry topics, or is about to. */
export interface Waiting {
  readonly destinationId: string;
  readonly events: number;
  /** From when the age of the oldest one runs, and the deadline that ends first. */
  readonly oldestMs: number;
  readonly deadlineMs?: number | undefined;
}

/** Of one destination, over all partitions here. */
export interface WaitingLater {
  readonly events: number;
  readonly byTierMs: ReadonlyMap<number, number>;
  readonly oldestMs: number | undefined;
  readonly deadlineMs: number | undefined;
}

const nothing: WaitingLater = {
  events: 0,
  byTierMs: new Map(),
  oldestMs: undefined,
  deadlineMs: undefined,
};

interface Slice {
  events: number;
  oldestMs: number;
  deadlineMs: number;
}

/** Of one destination in one partition: what is due about the same time, by that time. */
type Slices = Map<number, Slice>;

interface OfDestination {
  events: number;
  readonly byClaim: Map<Claim, Slices>;
}

/** As much is due about the same time: what is known of it is forgotten with the last of it. */
const slicesPerTier = 8;
const shortestSliceMs = 1_000;

/**
 * How much of each destination waits in the retry topics, as far as they were read: the gate knows
 * partitions and times alone.
 */
export class WaitingByDestination {
  readonly #tierMs: (topic: string) => number;
  readonly #all = new Map<string, OfDestination>();

  constructor(tierMs: (topic: string) => number) {
    this.#tierMs = tierMs;
  }

  *destinations(): Generator<string, void, undefined> {
    yield* this.#all.keys();
  }

  eventsOf(destinationId: string): number {
    return this.#all.get(destinationId)?.events ?? 0;
  }

  held(claim: Claim, waiting: Waiting, dueMs: number): void {
    const { destinationId, events, oldestMs, deadlineMs = Infinity } = waiting;
    let known = this.#all.get(destinationId);
    if (known === undefined)
      this.#all.set(destinationId, (known = { events: 0, byClaim: new Map() }));
    let slices = known.byClaim.get(claim);
    if (slices === undefined) {
      slices = new Map<number, Slice>();
      known.byClaim.set(claim, slices);
    }
    const at = this.#sliceOf(claim, dueMs);
    known.events += events;
    const slice = slices.get(at);
    if (slice === undefined) {
      slices.set(at, { events, oldestMs, deadlineMs });
      return;
    }
    slice.events += events;
    slice.oldestMs = Math.min(slice.oldestMs, oldestMs);
    slice.deadlineMs = Math.min(slice.deadlineMs, deadlineMs);
  }

  /** @param dueMs as it was held with */
  left(claim: Claim, { destinationId, events }: Waiting, dueMs: number): void {
    const known = this.#all.get(destinationId);
    const slices = known?.byClaim.get(claim);
    const at = this.#sliceOf(claim, dueMs);
    const slice = slices?.get(at);
    if (known === undefined || slices === undefined || slice === undefined) return;
    known.events -= events;
    slice.events -= events;
    if (slice.events <= 0) slices.delete(at);
    if (slices.size === 0) known.byClaim.delete(claim);
    if (known.byClaim.size === 0) this.#all.delete(destinationId);
  }

  /** The partition goes to somebody else. */
  released(claim: Claim): void {
    for (const [destinationId, known] of this.#all) {
      const slices = known.byClaim.get(claim);
      if (slices === undefined) continue;
      for (const { events } of slices.values()) known.events -= events;
      known.byClaim.delete(claim);
      if (known.byClaim.size === 0) this.#all.delete(destinationId);
    }
  }

  of(destinationId: string): WaitingLater {
    const known = this.#all.get(destinationId);
    if (known === undefined) return nothing;
    const byTierMs = new Map<number, number>();
    let oldestMs = Infinity;
    let deadlineMs = Infinity;
    for (const [{ topic }, slices] of known.byClaim) {
      const tierMs = this.#tierMs(topic);
      for (const slice of slices.values()) {
        byTierMs.set(tierMs, (byTierMs.get(tierMs) ?? 0) + slice.events);
        oldestMs = Math.min(oldestMs, slice.oldestMs);
        deadlineMs = Math.min(deadlineMs, slice.deadlineMs);
      }
    }
    const { events } = known;
    return {
      events,
      byTierMs,
      oldestMs,
      deadlineMs: deadlineMs === Infinity ? undefined : deadlineMs,
    };
  }

  #sliceOf({ topic }: Claim, dueMs: number): number {
    return Math.floor(dueMs / Math.max(shortestSliceMs, this.#tierMs(topic) / slicesPerTier));
  }
}
