import { PostriderError } from '../../errors.ts';
import type { WithUid } from '../../event/uid.ts';
import type { Logger } from '../../ops/log.ts';
import { ConfigIndex, type FollowedName, type FollowedResource } from './config-index.ts';
import type { ConfigChange } from './config.ts';
import type { RoutedDestination } from './connected.ts';
import type { Resource } from '../resource.ts';
import type { SecretKeys } from './secrets.ts';
import {
  decodeResource,
  hasCiphertexts,
  maskResource,
  openResource,
  parseRecordKey,
  recordKey,
  storedUid,
  type ResourceName,
} from './stored.ts';

/**
 * Turns the records of the `config` topic into the index. A record that cannot be read is logged and
 * changes nothing: the version before it stays in force.
 */
export class ConfigRecords {
  readonly index: ConfigIndex;
  readonly #secretKeys: SecretKeys | undefined;
  readonly #log: Logger;
  /** By record key: resources that exist, of which no version could be read. */
  readonly #unreadable = new Map<string, WithUid>();
  /** Resources whose newest version could not be read, whatever is in force instead. */
  readonly #notFollowed = new Set<string>();
  /** Until all of the topic was read. */
  #loading: Map<string, Versions> | undefined = new Map<string, Versions>();
  /** Characters of versions that were collected since the superseded ones were dropped last. */
  #collected = 0;
  #wrongKey: PostriderError | undefined;

  /**
   * @param secretKeys undefined: nobody here needs secrets, and a mask stands in the place of each
   * @param index what is in force until the loading is finished: of a topic that was made again, what was known before
   */
  constructor(
    secretKeys: SecretKeys | undefined,
    log: Logger,
    index: ConfigIndex = new ConfigIndex(),
  ) {
    this.index = index;
    this.#secretKeys = secretKeys;
    this.#log = log;
  }

  isUnreadable(name: FollowedName): boolean {
    return this.#unreadable.has(recordKey(name));
  }

  /** The readable part of an unreadable resource. */
  unreadable(name: FollowedName): WithUid | undefined {
    return this.#unreadable.get(recordKey(name));
  }

  /** Resources whose newest version could not be read. */
  get notFollowed(): number {
    return this.#notFollowed.size;
  }

  /** Returns what changed; nothing while loading. */
  accept(key: string, value: string | null): ConfigChange | undefined {
    const name = parseRecordKey(key);
    if (name === undefined) {
      this.#log.debug({ key }, 'the config topic has a record of a kind unknown to this version');
      return undefined;
    }
    if (!isFollowed(name)) return undefined;
    if (this.#loading !== undefined) {
      this.#collect(this.#loading, name, value);
      return undefined;
    }
    const changed = value === null ? this.#remove(name) : this.#put(name, [value]).changed;
    return changed ? name : undefined;
  }

  /**
   * Ends the loading and returns what changed by it. Records are decoded now: after a key rotation the topic
   * holds, until it is compacted, old versions that nobody can read any more, and nobody needs to.
   */
  finishLoading(): readonly ConfigChange[] {
    const loading = this.#loading ?? new Map<string, Versions>();
    this.#loading = undefined;
    const gone = this.index.names().filter((name) => !loading.has(recordKey(name)));
    const put = [...loading.values()].map(({ name, values }) => this.#put(name, values));
    const unreadable = put.find(({ failure }) => failure?.code === 'secret-unreadable');
    this.#wrongKey = put.some(({ opened }) => opened) ? undefined : unreadable?.failure;
    return [
      ...gone.filter((name) => this.#remove(name)),
      ...put.filter(({ changed }) => changed).map(({ name }) => name),
    ];
  }

  /** Set if secrets were loaded and none could be read: then it is the key that is wrong, not a record. */
  get wrongKey(): PostriderError | undefined {
    return this.#wrongKey;
  }

  #collect(loading: Map<string, Versions>, name: FollowedName, value: string | null): void {
    const key = recordKey(name);
    const before = loading.get(key)?.values ?? [];
    // Behind all others, because the index is in the order of the latest records.
    loading.delete(key);
    if (value === null) return;
    loading.set(key, { name, values: [...before, value] });
    this.#collected += value.length;
    if (this.#collected <= mostCollected) return;
    this.#collected = 0;
    for (const [each, versions] of loading) loading.set(each, this.#withoutSuperseded(versions));
  }

  /**
   * The newest version, and the newest one that can be read, which is in force while the newest cannot be. Where none
   * can, the newest whose secrets alone cannot be read: calls are routed by it.
   */
  #withoutSuperseded({ name, values }: Versions): Versions {
    const newest = values.slice(-1);
    let inForce: string | undefined;
    for (const value of values.toReversed()) {
      const read = this.#read(name, value);
      if (!('failure' in read)) {
        inForce = value;
        break;
      }
      if (read.sealed !== undefined) inForce ??= value;
    }
    if (inForce === undefined || newest.includes(inForce)) return { name, values: newest };
    return { name, values: [inForce, ...newest] };
  }

  #remove(name: FollowedName): boolean {
    this.#unreadable.delete(recordKey(name));
    this.#notFollowed.delete(recordKey(name));
    return this.index.remove(name);
  }

  /** Takes the newest version that can be read. */
  #put(name: FollowedName, values: readonly string[]): PutResult {
    const failures: Failure[] = [];
    for (const value of values.toReversed()) {
      const read = this.#read(name, value);
      if ('failure' in read) {
        failures.push(read);
        continue;
      }
      this.#unreadable.delete(recordKey(name));
      const changed = this.index.put(read.resource);
      this.#report(name, failures[0]?.failure, formerStays);
      return { name, changed, opened: read.opened, failure: failures[0]?.failure };
    }
    let effect = formerStays;
    if (!this.index.has(name)) {
      this.#unreadable.set(recordKey(name), { uid: storedUid(values.at(-1) ?? '') });
      const sealed = failures.find((each) => each.sealed !== undefined)?.sealed;
      if (sealed !== undefined) this.index.putSealed(sealed);
      effect = sealed === undefined ? notRouted : eventsWait;
    }
    this.#report(name, failures[0]?.failure, effect);
    return { name, changed: false, opened: false, failure: failures[0]?.failure };
  }

  #read(
    name: FollowedName,
    value: string,
  ): { resource: FollowedResource; opened: boolean } | Failure {
    let sealed: Resource | undefined;
    try {
      const stored = decodeResource(name, value);
      sealed = stored.sealed;
      const keys = this.#secretKeys;
      const resource = keys === undefined ? maskResource(stored) : openResource(stored, keys);
      const opened = keys !== undefined && hasCiphertexts(stored);
      // Of the kind that its name says.
      return { resource: resource as FollowedResource, opened };
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      return { failure: error, sealed: sealed?.kind === 'Destination' ? sealed : undefined };
    }
  }

  #report({ kind, id }: FollowedName, failure: PostriderError | undefined, effect: string): void {
    const key = recordKey({ kind, id });
    if (failure === undefined) {
      this.#notFollowed.delete(key);
      return;
    }
    this.#notFollowed.add(key);
    this.#log.error({ kind, id }, `${failure.message}; ${effect}`);
  }
}

/**
 * Before superseded versions are dropped: a quarter of a role's heap in one-byte characters. Each drop decodes a
 * version of each resource that has several, so it must not happen often.
 */
const mostCollected = 32 * 1024 * 1024;

const formerStays = 'its previous version stays in force';
const eventsWait = 'no version of it can be read, so its events wait';
const notRouted =
  'no version of it can be read: calls are not routed to it, and events that were routed before wait';

/** The versions of one resource in the topic, oldest first, since it was last deleted. */
interface Versions {
  readonly name: FollowedName;
  readonly values: readonly string[];
}

interface Failure {
  readonly failure: PostriderError;
  /** Set if it is only the secrets that cannot be read. */
  readonly sealed: RoutedDestination | undefined;
}

interface PutResult {
  readonly name: FollowedName;
  readonly changed: boolean;
  /** Secrets of it were decrypted. */
  readonly opened: boolean;
  /** The reason why the newest version cannot be read. */
  readonly failure: PostriderError | undefined;
}

function isFollowed(name: ResourceName): name is FollowedName {
  return name.kind !== 'Audience' && name.kind !== 'ComputedTrait';
}
