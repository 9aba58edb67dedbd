import { partitionOf } from '../../kafka/produce/partitioner.ts';
import type { Destination } from '../../resources/resource.ts';

/**
 * This worker's partition indexes of the topic that decides where homes are, and the number of that topic's
 * partitions.
 */
export interface OwnedIndexes {
  readonly indexes: ReadonlySet<number>;
  /** Undefined while the number is not known. */
  readonly count: number | undefined;
}

export const noIndexes: OwnedIndexes = { indexes: new Set(), count: undefined };

export interface WorkShare {
  /**
   * 1: this worker has the whole limit; 0: another worker has it; undefined: not known yet. At most one
   * worker has 1.
   */
  readonly share: 0 | 1 | undefined;
  /** The time since which this worker has had the limit, by the steady clock. */
  readonly sinceMs: number;
}

const nothing: WorkShare = { share: 0, sinceMs: 0 };

/**
 * Says whether this worker applies a destination's rate limit. All events of such a destination have one partition
 * index, its home (see `partitionKeyOf`). The worker that owns the home has the whole limit. The home is in
 * the destination's dedicated topic if it has one, otherwise in the shared topics.
 */
export class WorkShares {
  #shared = new Homes(noIndexes, 0);
  readonly #dedicated = new Map<string, Homes>();

  /** Without a destination, the indexes are those of the shared topics. */
  set(owned: OwnedIndexes, nowMs: number, destinationId?: string): void {
    if (destinationId === undefined) this.#shared = new Homes(owned, nowMs, this.#shared);
    else if (owned.indexes.size === 0) this.#dedicated.delete(destinationId);
    else {
      const former = this.#dedicated.get(destinationId);
      this.#dedicated.set(destinationId, new Homes(owned, nowMs, former));
    }
  }

  of({ id, topic }: Pick<Destination, 'id' | 'topic'>): WorkShare {
    const homes = topic === 'shared' ? this.#shared : this.#dedicated.get(id);
    return homes?.shareOf(id) ?? nothing;
  }
}

/** The indexes that this worker owns, and since when. */
class Homes {
  readonly #count: number | undefined;
  readonly #sinceMs: ReadonlyMap<number, number>;

  constructor({ indexes, count }: OwnedIndexes, nowMs: number, former?: Homes) {
    const isOutdated = [...indexes].some((index) => index >= (count ?? Infinity));
    this.#count = isOutdated ? undefined : count;
    // With another number of partitions, the same index is the home of other destinations.
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
