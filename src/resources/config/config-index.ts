import { isDeepStrictEqual } from 'node:util';
import { deliveredAs, nameOfDestination } from '../notice-hook.ts';
import type { Destination, NoticeHook, Source } from '../resource.ts';
import { ConnectedDestinations, type Connected, type RoutedDestination } from './connected.ts';
import type { ResourceName } from './stored.ts';

/** The resources that roles use. Audiences and computed traits are read only by their sync. */
export type FollowedResource = Source | Destination | NoticeHook;

export interface FollowedName extends ResourceName {
  readonly kind: FollowedResource['kind'];
}

/**
 * The resources as they are now, with the lookups that stages need. A record costs what its own resource is
 * connected to, however many others there are. Contains no Kafka.
 */
export class ConfigIndex {
  readonly #sources = new Map<string, Source>();
  readonly #destinations = new Map<string, Destination>();
  readonly #noticeHooks = new Map<string, NoticeHook>();
  /** Created when needed: one object for each version of a hook, or of a destination whose owner is told. */
  readonly #forNotices = new WeakMap<NoticeHook | Destination, Destination>();
  /** Destinations of which no version's secrets can be read here. */
  readonly #sealed = new Map<string, RoutedDestination>();
  readonly #byWriteKey = new SourcesByWriteKey();
  readonly #bySource = new DestinationsBySource();

  /** Returns false if nothing changed, as when a rotation encrypts the same secrets again. */
  put(resource: FollowedResource): boolean {
    const resources = this.#of(resource);
    const before = resources.get(resource.id);
    const changed = !isDeepStrictEqual(before, resource);
    // The object stays the same as long as its resource does, because stages cache by it.
    const after = changed || before === undefined ? resource : before;
    if (after.kind === 'Source') this.#byWriteKey.put(this.#sources.get(after.id), after);
    if (!changed) return false;
    if (after.kind === 'Destination') {
      this.#disconnect(after.id);
      this.#bySource.put(after);
    }
    resources.set(after.id, after);
    return true;
  }

  /** For routing only, until a readable version of the destination comes. */
  putSealed(destination: RoutedDestination): void {
    this.#disconnect(destination.id);
    this.#sealed.set(destination.id, destination);
    this.#bySource.put(destination);
  }

  /** Returns false if there was none. */
  remove(name: FollowedName): boolean {
    if (name.kind === 'Destination') this.#disconnect(name.id);
    const source = name.kind === 'Source' ? this.#sources.get(name.id) : undefined;
    if (source !== undefined) this.#byWriteKey.remove(source);
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

  /** Also a destination of notices: that of a hook, or of another destination's owner. */
  destination(id: string): Destination | undefined {
    return this.#destinations.get(id) ?? this.#destinationForNotices(id);
  }

  noticeHooks(): Iterable<NoticeHook> {
    return this.#noticeHooks.values();
  }

  destinations(): Iterable<Destination> {
    return this.#destinations.values();
  }

  sourceByWriteKey(writeKey: string): Source | undefined {
    return this.#byWriteKey.get(writeKey);
  }

  destinationsOf(sourceId: string): Connected {
    return this.#bySource.get(sourceId);
  }

  #disconnect(destinationId: string): void {
    const before = this.#destinations.get(destinationId) ?? this.#sealed.get(destinationId);
    if (before !== undefined) this.#bySource.remove(before);
    this.#sealed.delete(destinationId);
  }

  #destinationForNotices(id: string): Destination | undefined {
    const name = nameOfDestination(id);
    const ofKind = name.kind === 'NoticeHook' ? this.#noticeHooks : this.#destinations;
    const resource = ofKind.get(name.id);
    if (resource === undefined) return undefined;
    const known = this.#forNotices.get(resource);
    if (known !== undefined) return known;
    const made = deliveredAs(resource, id);
    if (made !== undefined) this.#forNotices.set(resource, made);
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
}

/**
 * The sources by write key. Two simultaneous applies can both use a write key; the source whose latest record is
 * older keeps it. That is the same for every process whenever it started, because compaction keeps exactly those
 * records.
 */
class SourcesByWriteKey {
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
class DestinationsBySource {
  readonly #connected = new Map<string, ConnectedDestinations>();

  get(sourceId: string): Connected {
    return this.#connected.get(sourceId) ?? none;
  }

  put(destination: RoutedDestination): void {
    if (!destination.enabled) return;
    for (const sourceId of new Set(destination.sources)) {
      const connected = this.#connected.get(sourceId) ?? new ConnectedDestinations();
      this.#connected.set(sourceId, connected);
      connected.put(destination);
    }
  }

  remove({ id, sources }: RoutedDestination): void {
    for (const sourceId of sources) {
      const connected = this.#connected.get(sourceId);
      connected?.remove(id);
      if (connected?.size === 0) this.#connected.delete(sourceId);
    }
  }
}

const none: Connected = new ConnectedDestinations();
