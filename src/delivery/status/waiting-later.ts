import { idIn, identityText, type Identity, type WithUid } from '../../event/uid.ts';
import type { Claim } from '../job.ts';

/** Events that wait in retry topics, or are about to. */
export interface Waiting extends WithUid {
  readonly destinationId: string;
  readonly events: number;
  /** The start of the oldest event's age, and the earliest deadline. */
  readonly oldestMs: number;
  readonly deadlineMs?: number | undefined;
}

/** The waiting events of one destination, in all partitions here. */
export interface WaitingLater {
  readonly events: number;
  readonly byTierMs: ReadonlyMap<number, WaitingInTier>;
  readonly oldestMs: number | undefined;
  readonly deadlineMs: number | undefined;
}

/** The waiting events of one destination in one retry tier. */
export interface WaitingInTier {
  readonly events: number;
  /** The first and the last of them are due in between, to an eighth of the tier. */
  readonly dueFromMs: number;
  readonly dueUntilMs: number;
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

/** The waiting events of one destination in one partition, in slices by due time. */
type Slices = Map<number, Slice>;

interface OfDestination {
  events: number;
  readonly byClaim: Map<Claim, Slices>;
}

/** Slices for each tier. The age of the oldest event is dropped together with its slice. */
const slicesPerTier = 8;
const shortestSliceMs = 1_000;

/**
 * Counts the events of each destination in the retry topics, as far as those were read. The gate itself knows
 * only partitions and times.
 */
export class WaitingByDestination {
  readonly #tierMs: (topic: string) => number;
  /** The keys are each destination's `identityText`. */
  readonly #all = new Map<string, OfDestination>();

  constructor(tierMs: (topic: string) => number) {
    this.#tierMs = tierMs;
  }

  /** The ids of destinations with waiting events, also of deleted ones. */
  *destinations(): Generator<string, void, undefined> {
    for (const each of this.#all.keys()) yield idIn(each);
  }

  eventsOf(destination: Identity): number {
    return this.#all.get(identityText(destination))?.events ?? 0;
  }

  /** The partitions in which events of it wait. */
  claimsOf(destination: Identity): Claim[] {
    return [...(this.#all.get(identityText(destination))?.byClaim.keys() ?? [])];
  }

  held(claim: Claim, waiting: Waiting, dueMs: number): void {
    const { events, oldestMs, deadlineMs = Infinity } = waiting;
    const whose = whoseIs(waiting);
    let known = this.#all.get(whose);
    if (known === undefined) this.#all.set(whose, (known = { events: 0, byClaim: new Map() }));
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

  /** @param dueMs the due time that was passed to `held` */
  left(claim: Claim, waiting: Waiting, dueMs: number): void {
    const { events } = waiting;
    const whose = whoseIs(waiting);
    const known = this.#all.get(whose);
    const slices = known?.byClaim.get(claim);
    const at = this.#sliceOf(claim, dueMs);
    const slice = slices?.get(at);
    if (known === undefined || slices === undefined || slice === undefined) return;
    known.events -= events;
    slice.events -= events;
    if (slice.events <= 0) slices.delete(at);
    if (slices.size === 0) known.byClaim.delete(claim);
    if (known.byClaim.size === 0) this.#all.delete(whose);
  }

  /** The partition moves to another worker. */
  released(claim: Claim): void {
    for (const [whose, known] of this.#all) {
      const slices = known.byClaim.get(claim);
      if (slices === undefined) continue;
      for (const { events } of slices.values()) known.events -= events;
      known.byClaim.delete(claim);
      if (known.byClaim.size === 0) this.#all.delete(whose);
    }
  }

  of(destination: Identity): WaitingLater {
    const known = this.#all.get(identityText(destination));
    if (known === undefined) return nothing;
    const byTierMs = new Map<number, WaitingInTier>();
    let oldestMs = Infinity;
    let deadlineMs = Infinity;
    for (const [{ topic }, slices] of known.byClaim) {
      const tierMs = this.#tierMs(topic);
      const sliceMs = sliceMsOf(tierMs);
      for (const [at, slice] of slices) {
        const inTier = byTierMs.get(tierMs);
        byTierMs.set(tierMs, {
          events: (inTier?.events ?? 0) + slice.events,
          dueFromMs: Math.min(inTier?.dueFromMs ?? Infinity, at * sliceMs),
          dueUntilMs: Math.max(inTier?.dueUntilMs ?? 0, (at + 1) * sliceMs),
        });
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
    return Math.floor(dueMs / sliceMsOf(this.#tierMs(topic)));
  }
}

function whoseIs({ destinationId: id, uid }: Waiting): string {
  return identityText({ id, uid });
}

function sliceMsOf(tierMs: number): number {
  return Math.max(shortestSliceMs, tierMs / slicesPerTier);
}
