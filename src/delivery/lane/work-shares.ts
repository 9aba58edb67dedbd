import type { Destination } from '../../resources/resource.ts';

/** Of one group's topics: the partition indexes that are this worker's, and how many there are. */
export interface OwnedIndexes {
  readonly owned: number;
  /** Undefined while it is not known. */
  readonly count: number | undefined;
}

export interface WorkShare {
  /** From 0 to 1; undefined while a part of it is not known. The shares of all workers add up to at most 1. */
  readonly share: number | undefined;
  /** When it last changed, by the steady clock. */
  readonly sinceMs: number;
}

interface Entry extends OwnedIndexes {
  readonly sinceMs: number;
}

/** How a destination's own topic and the retry topics divide its rate limit. */
const dedicatedPart = 0.75;

const none: Entry = { owned: 0, count: 1, sinceMs: 0 };

/**
 * Which share of the deployment's work is this worker's. A user's fresh and retried records have the same
 * partition index, so a share of the indexes is a share of a destination's events.
 */
export class WorkShares {
  #shared = none;
  readonly #dedicated = new Map<string, Entry>();

  /** Without a destination: of the topics that all destinations share. */
  set({ owned, count }: OwnedIndexes, nowMs: number, destinationId?: string): void {
    const former =
      destinationId === undefined ? this.#shared : (this.#dedicated.get(destinationId) ?? none);
    if (former.owned === owned && former.count === count) return;
    const entry = { owned, count, sinceMs: nowMs };
    if (destinationId === undefined) this.#shared = entry;
    else if (owned === 0) this.#dedicated.delete(destinationId);
    else this.#dedicated.set(destinationId, entry);
  }

  of({ id, topic }: Destination): WorkShare {
    const shared = shareOf(this.#shared);
    if (topic === 'shared') return { share: shared, sinceMs: this.#shared.sinceMs };
    const dedicated = this.#dedicated.get(id) ?? none;
    const own = shareOf(dedicated);
    const isKnown = own !== undefined && shared !== undefined;
    return {
      share: isKnown ? dedicatedPart * own + (1 - dedicatedPart) * shared : undefined,
      sinceMs: Math.max(dedicated.sinceMs, this.#shared.sinceMs),
    };
  }
}

function shareOf({ owned, count }: OwnedIndexes): number | undefined {
  if (owned === 0) return 0;
  return count === undefined ? undefined : Math.min(1, owned / count);
}
