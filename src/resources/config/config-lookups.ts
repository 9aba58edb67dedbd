import type { Source } from '../resource.ts';
import type { RoutedDestination } from './config.ts';

/**
 * The sources by write key. Two simultaneous applies can both use a write key; the source whose latest record is
 * older keeps it. That is the same for every process whenever it started, because compaction keeps exactly those
 * records.
 */
export class SourcesByWriteKey {
  /** Sources that have the key, in the order of their latest records. */
  readonly #claims = new Map<string, readonly Source[]>();

  get(writeKey: string): Source | undefined {
    return this.#claims.get(writeKey)?.[0];
  }

  /** To be called for each record of a source, also for one that changes nothing, because it is the latest now. */
  put(before: Source | undefined, source: Source): void {
    if (before !== undefined) this.remove(before);
    for (const writeKey of new Set(source.writeKeys))
      this.#claims.set(writeKey, [...(this.#claims.get(writeKey) ?? []), source]);
  }

  remove(source: Source): void {
    for (const writeKey of source.writeKeys) {
      const others = this.#claims.get(writeKey)?.filter(({ id }) => id !== source.id) ?? [];
      if (others.length === 0) this.#claims.delete(writeKey);
      else this.#claims.set(writeKey, others);
    }
  }
}

/** The enabled destinations of each source. A change costs what the changed destination is connected to. */
export class DestinationsBySource {
  /** Ordered by id. */
  readonly #connected = new Map<string, RoutedDestination[]>();

  get(sourceId: string): readonly RoutedDestination[] {
    return this.#connected.get(sourceId) ?? none;
  }

  put(destination: RoutedDestination): void {
    if (!destination.enabled) return;
    for (const sourceId of new Set(destination.sources)) {
      const connected = this.#connected.get(sourceId);
      if (connected === undefined) this.#connected.set(sourceId, [destination]);
      else connected.splice(placeOf(connected, destination.id), 0, destination);
    }
  }

  remove(destination: RoutedDestination): void {
    for (const sourceId of destination.sources) {
      const connected = this.#connected.get(sourceId);
      const place = connected === undefined ? -1 : placeOf(connected, destination.id);
      if (connected?.[place]?.id !== destination.id) continue;
      if (connected.length === 1) this.#connected.delete(sourceId);
      else connected.splice(place, 1);
    }
  }
}

const none: readonly RoutedDestination[] = Object.freeze([]);

/** The index of the first one whose id is not smaller. */
function placeOf(sorted: readonly RoutedDestination[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.id ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
