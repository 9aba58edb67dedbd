import { partitionOf } from '../../kafka/produce/partitioner.ts';
import type { Destination } from '../../resources/resource.ts';

/** Of the topic that decides where a group's homes are: this worker's partition indexes, and how many there are. */
export interface OwnedIndexes {
  readonly indexes: ReadonlySet<number>;
  /** Undefined while it is not known. */
  readonly count: number | undefined;
}

export const noIndexes: OwnedIndexes = { indexes: new Set(), count: undefined };

export interface WorkShare {
  /** From 0 to 1; undefined while a part of it is not known. The shares of all workers add up to at most 1. */
  readonly share: number | undefined;
  /** Since when it has been so large, by the steady clock. */
  readonly sinceMs: number;
}

/** How a destination's own topic and the retry topics divide its rate limit. */
const dedicatedPart = 0.75;

const nothing: WorkShare = { share: 0, sinceMs: 0 };

/**
 * Which share of a destination's rate limit is this worker's. All events of such a destination have one
 * partition index, its home (see `partitionKeyOf`): the worker that owns the home has all of the limit.
 */
export class WorkShares {
  #shared = new Homes(noIndexes, 0);
  readonly #dedicated = new Map<string, Homes>();

  /** Without a destination: of the topics that all destinations share. */
  set(owned: OwnedIndexes, nowMs: number, destinationId?: string): void {
    if (destinationId === undefined) this.#shared = new Homes(owned, nowMs, this.#shared);
    else if (owned.indexes.size === 0) this.#dedicated.delete(destinationId);
    else {
      const former = this.#dedicated.get(destinationId);
      this.#dedicated.set(destinationId, new Homes(owned, nowMs, former));
    }
  }

  of({ id, topic }: Pick<Destination, 'id' | 'topic'>): WorkShare {
    const shared = this.#shared.shareOf(id);
    if (topic === 'shared') return shared;
    const own = this.#dedicated.get(id)?.shareOf(id) ?? nothing;
    const isKnown = own.share !== undefined && shared.share !== undefined;
    return {
      share: isKnown ? dedicatedPart * own.share + (1 - dedicatedPart) * shared.share : undefined,
      sinceMs: Math.max(own.sinceMs, shared.sinceMs),
    };
  }
}

/** The indexes that this worker owns, and since when. */
class Homes {
  readonly #count: number | undefined;
  readonly #sinceMs: ReadonlyMap<number, number>;

  constructor({ indexes, count }: OwnedIndexes, nowMs: number, former?: Homes) {
    const isOutdated = [...indexes].some((index) => index >= (count ?? Infinity));
    this.#count = isOutdated ? undefined : count;
    // With another count the same index is the home of other destinations.
    const kept = former !== undefined && former.#count === this.#count ? former.#sinceMs : noTimes;
    this.#sinceMs = new Map(Array.from(indexes, (index) => [index, kept.get(index) ?? nowMs]));
  }

  shareOf(destinationId: string): WorkShare {
    if (this.#sinceMs.size === 0) return nothing;
    if (this.#count === undefined) return { share: undefined, sinceMs: 0 };
    const sinceMs = this.#sinceMs.get(partitionOf(destinationId, this.#count));
    return sinceMs === undefined ? nothing : { share: 1, sinceMs };
  }
}

const noTimes: ReadonlyMap<number, number> = new Map();
