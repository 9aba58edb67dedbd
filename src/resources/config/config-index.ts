import { isDeepStrictEqual } from 'node:util';
import { destinationOfHook, nameOfDestination } from '../notice-hook.ts';
import type { Destination, NoticeHook, Source } from '../resource.ts';
import type { RoutedDestination } from './config.ts';
import type { ResourceName } from './stored.ts';

/** The resources that roles use. Audiences and computed traits are read only by their sync. */
export type FollowedResource = Source | Destination | NoticeHook;

export interface FollowedName extends ResourceName {
  readonly kind: FollowedResource['kind'];
}

/** The resources as they are now, with the lookups that stages need. Contains no Kafka. */
export class ConfigIndex {
  /**
   * In the order of their latest records, which is the same for every process whenever it started,
   * because compaction keeps exactly those.
   */
  readonly #sources = new Map<string, Source>();
  readonly #destinations = new Map<string, Destination>();
  readonly #noticeHooks = new Map<string, NoticeHook>();
  /** Created when needed: one object for each version of a hook. */
  readonly #hookDestinations = new WeakMap<NoticeHook, Destination>();
  /** Destinations of which no version's secrets can be read here. */
  readonly #sealed = new Map<string, RoutedDestination>();
  #lookups: Lookups | undefined;

  /** Returns false if nothing changed, as when a rotation encrypts the same secrets again. */
  put(resource: FollowedResource): boolean {
    if (resource.kind === 'Destination') this.#sealed.delete(resource.id);
    const resources = this.#of(resource);
    const before = resources.get(resource.id);
    const changed = !isDeepStrictEqual(before, resource);
    resources.delete(resource.id);
    // The object stays the same as long as its resource does, because stages cache by it.
    resources.set(resource.id, changed || before === undefined ? resource : before);
    this.#lookups = undefined;
    return changed;
  }

  /** For routing only, until a readable version of the destination comes. */
  putSealed(destination: RoutedDestination): void {
    this.#sealed.set(destination.id, destination);
    this.#lookups = undefined;
  }

  /** Returns false if there was none. */
  remove(name: FollowedName): boolean {
    if (name.kind === 'Destination') this.#sealed.delete(name.id);
    this.#lookups = undefined;
    return this.#of(name).delete(name.id);
  }

  has(name: FollowedName): boolean {
    return this.#of(name).has(name.id);
  }

  names(): FollowedName[] {
    return [
      ...this.#sources.values(),
      ...this.#destinations.values(),
      ...this.#sealed.values(),
      ...this.#noticeHooks.values(),
    ];
  }

  source(id: string): Source | undefined {
    return this.#sources.get(id);
  }

  /** Also the destination that stands for a notice hook. */
  destination(id: string): Destination | undefined {
    return this.#destinations.get(id) ?? this.#hookDestination(id);
  }

  noticeHooks(): Iterable<NoticeHook> {
    return this.#noticeHooks.values();
  }

  destinations(): Iterable<Destination> {
    return this.#destinations.values();
  }

  sourceByWriteKey(writeKey: string): Source | undefined {
    return this.#derived().sourceByWriteKey.get(writeKey);
  }

  destinationsOf(sourceId: string): readonly RoutedDestination[] {
    return this.#derived().destinationsOf.get(sourceId) ?? none;
  }

  #hookDestination(id: string): Destination | undefined {
    const name = nameOfDestination(id);
    const hook = name.kind === 'NoticeHook' ? this.#noticeHooks.get(name.id) : undefined;
    if (hook === undefined) return undefined;
    const known = this.#hookDestinations.get(hook);
    if (known !== undefined) return known;
    const made = destinationOfHook(hook);
    this.#hookDestinations.set(hook, made);
    return made;
  }

  #of({ kind }: FollowedName): Map<string, FollowedResource> {
    switch (kind) {
      case 'Source':
        return this.#sources;
      case 'Destination':
        return this.#destinations;
      case 'NoticeHook':
        return this.#noticeHooks;
    }
  }

  /** Computed at the first lookup after a change, so that loading a large snapshot computes them once. */
  #derived(): Lookups {
    this.#lookups ??= {
      sourceByWriteKey: indexWriteKeys(this.#sources.values()),
      destinationsOf: indexDestinations([...this.#destinations.values(), ...this.#sealed.values()]),
    };
    return this.#lookups;
  }
}

interface Lookups {
  readonly sourceByWriteKey: ReadonlyMap<string, Source>;
  readonly destinationsOf: ReadonlyMap<string, readonly RoutedDestination[]>;
}

const none: readonly RoutedDestination[] = Object.freeze([]);

/** Two simultaneous applies can both use a write key. The source that had it first keeps it. */
function indexWriteKeys(sources: Iterable<Source>): Map<string, Source> {
  const index = new Map<string, Source>();
  for (const source of sources)
    for (const writeKey of source.writeKeys) if (!index.has(writeKey)) index.set(writeKey, source);
  return index;
}

function indexDestinations(
  destinations: readonly RoutedDestination[],
): Map<string, RoutedDestination[]> {
  const index = new Map<string, RoutedDestination[]>();
  const byId = destinations.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const destination of byId) {
    if (!destination.enabled) continue;
    for (const sourceId of destination.sources) {
      const connected = index.get(sourceId);
      if (connected === undefined) index.set(sourceId, [destination]);
      else connected.push(destination);
    }
  }
  return index;
}
