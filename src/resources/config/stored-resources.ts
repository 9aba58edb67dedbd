import { PostriderError } from '../../errors.ts';
import type { Identity } from '../../event/uid.ts';
import { hintAmong } from '../../near.ts';
import type { Resource } from '../resource.ts';
import {
  decodeResource,
  parseRecordKey,
  recordKey,
  storedIdentity,
  type ResourceName,
  type SealedResource,
  type StoredIdentity,
} from './stored.ts';

/** A resource as it is stored in the `config` topic; `sealed` is missing if its record is not valid. */
export interface StoredResource extends StoredIdentity {
  readonly name: ResourceName;
  readonly sealed?: SealedResource | undefined;
}

/** By record key, `<kind>/<id>`. Needs no key: secrets stay sealed. */
export type StoredResources = ReadonlyMap<string, StoredResource>;

/** Resources of one kind, by id, including those that this version cannot read. */
export function ofKind(stored: StoredResources, kind: ResourceName['kind']): StoredResource[] {
  return [...stored.values()]
    .filter(({ name }) => name.kind === kind)
    .sort((a, b) => (a.name.id < b.name.id ? -1 : 1));
}

/** The resources of one kind that this version can read, by id; secrets stay sealed. */
export function readableOfKind<K extends ResourceName['kind']>(
  stored: StoredResources,
  kind: K,
): Extract<Resource, { readonly kind: K }>[] {
  const isOfKind = (resource: Resource): resource is Extract<Resource, { readonly kind: K }> =>
    resource.kind === kind;
  return ofKind(stored, kind)
    .flatMap(({ sealed }) => sealed?.sealed ?? [])
    .filter(isOfKind);
}

/**
 * The error for an id that no stored resource has. It names those that are stored.
 * @param what as in a sentence, e.g. `source`
 */
export function notStored(what: string, id: string, known: readonly string[]): PostriderError {
  const others =
    known.length === 0
      ? '; there are none yet: apply one first'
      : hintAmong(id, known, 'known are');
  return new PostriderError('not-found', `there is no ${what} ${id}${others}`);
}

/** Undefined: the record is of a kind that this version does not know. */
export function decodeStored(key: string, value: string): StoredResource | undefined {
  const name = parseRecordKey(key);
  return name === undefined ? undefined : new Stored(name, value);
}

/** Decodes a record when it is first looked at: of thousands, a command is often about one. */
class Stored implements StoredResource {
  readonly name: ResourceName;
  readonly uid?: string;
  readonly managedBy?: 'api';
  /** Undefined once it is decoded. */
  #value: string | undefined;
  #sealed: SealedResource | undefined;

  constructor(name: ResourceName, value: string) {
    this.name = name;
    this.#value = value;
    const { uid, managedBy } = storedIdentity(value);
    if (uid !== undefined) this.uid = uid;
    if (managedBy !== undefined) this.managedBy = managedBy;
  }

  get sealed(): SealedResource | undefined {
    if (this.#value === undefined) return this.#sealed;
    try {
      this.#sealed = decodeResource(this.name, this.#value);
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
    }
    this.#value = undefined;
    return this.#sealed;
  }
}

/** Undefined: there is none. */
export function findDestination(stored: StoredResources, id: string): Identity | undefined {
  const found = stored.get(recordKey({ kind: 'Destination', id }));
  return found && { id, uid: found.uid };
}

/** @throws PostriderError `not-found`, which names those that there are */
export function requireDestination(stored: StoredResources, id: string): Identity {
  const found = findDestination(stored, id);
  if (found !== undefined) return found;
  const known = ofKind(stored, 'Destination').map(({ name }) => name.id);
  throw notStored('destination', id, known);
}
