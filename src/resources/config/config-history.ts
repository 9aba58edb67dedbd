import type { IncomingRecord } from '../../kafka/record.ts';
import type { Destination, Source } from '../resource.ts';
import { PostriderError } from '../../errors.ts';
import { ConfigIndex, type FollowedName } from './config-index.ts';
import { decodeResource, parseRecordKey, recordKey } from './stored.ts';

/** A moment of the configuration. Secrets are sealed. */
export interface ConfigMoment {
  readonly index: ConfigIndex;
  /** Disabled ones too. */
  readonly destinations: ReadonlyMap<string, Destination>;
  /**
   * Says whether a resource is known as it was then. Otherwise it has changed since, and compaction
   * has removed the former version, so the current one is here.
   */
  isOfThen(name: FollowedName): boolean;
}

/** The sources whose events a destination can have. */
export interface OwnSources {
  readonly ids: ReadonlySet<string>;
  readonly writeKeys: ReadonlySet<string>;
}

interface Version {
  readonly offset: number;
  readonly timestampMs: number;
  /** Undefined: deleted, or not readable. */
  readonly resource: Source | Destination | undefined;
}

/** Former versions of sources and destinations, as far as the `config` topic still has them. */
export class ConfigHistory {
  readonly #versions = new Map<string, { readonly name: FollowedName; readonly all: Version[] }>();
  #nextOffset = 0;
  /** Nothing has been compacted away, so a resource without a version of some time did not exist then. */
  #isWhole = true;

  /** Processes the next record of the topic. */
  collect({ key, value, offset, timestampMs }: IncomingRecord): void {
    this.#isWhole &&= offset === this.#nextOffset;
    this.#nextOffset = offset + 1;
    const name = parseRecordKey(key?.toString() ?? '');
    if (name?.kind !== 'Source' && name?.kind !== 'Destination') return;
    const known = this.#versions.get(recordKey(name));
    const resource = value === null ? undefined : decode(name as FollowedName, value.toString());
    const version: Version = { offset, timestampMs, resource };
    if (known === undefined)
      this.#versions.set(recordKey(name), { name: name as FollowedName, all: [version] });
    else known.all.push(version);
  }

  /** Every destination that existed, as far as is known. */
  destinationIds(): readonly string[] {
    return [...this.#versions.values()]
      .filter(({ name }) => name.kind === 'Destination')
      .map(({ name }) => name.id);
  }

  /** All that a destination was ever connected to, as far as is known. */
  sourcesOf(destinationId: string): OwnSources {
    const resources = [...this.#versions.values()].flatMap(({ all }) =>
      all.flatMap(({ resource }) => resource ?? []),
    );
    const ids = new Set(
      resources.flatMap((each) =>
        each.kind === 'Destination' && each.id === destinationId ? each.sources : [],
      ),
    );
    const writeKeys = new Set(
      resources.flatMap((each) =>
        each.kind === 'Source' && ids.has(each.id) ? each.writeKeys : [],
      ),
    );
    return { ids, writeKeys };
  }

  now(): ConfigMoment {
    return this.#moment(() => true);
  }

  /** The configuration of a router that had read the topic up to this offset. */
  beforeOffset(end: number): ConfigMoment {
    return this.#moment(({ offset }) => offset < end);
  }

  /** The configuration that a router can have had then. */
  at(timeMs: number): ConfigMoment {
    return this.#moment(({ timestampMs }) => timestampMs <= timeMs);
  }

  #moment(isBefore: (version: Version) => boolean): ConfigMoment {
    const index = new ConfigIndex();
    const destinations = new Map<string, Destination>();
    const unknown = new Set<string>();
    // In the order of their versions: of two sources with one write key, the first has it.
    const inForce = [...this.#versions.values()].map(({ name, all }) => {
      const then = all.findLast(isBefore);
      if (then !== undefined || this.#isWhole) return then;
      unknown.add(recordKey(name));
      return all.at(-1);
    });
    for (const version of inForce.toSorted((a, b) => (a?.offset ?? 0) - (b?.offset ?? 0))) {
      const resource = version?.resource;
      if (resource === undefined) continue;
      index.put(resource);
      if (resource.kind === 'Destination') destinations.set(resource.id, resource);
    }
    return { index, destinations, isOfThen: (name) => !unknown.has(recordKey(name)) };
  }
}

function decode(name: FollowedName, value: string): Source | Destination | undefined {
  try {
    const { sealed } = decodeResource(name, value);
    return sealed.kind === 'Source' || sealed.kind === 'Destination' ? sealed : undefined;
  } catch (error) {
    if (error instanceof PostriderError) return undefined;
    throw error;
  }
}
