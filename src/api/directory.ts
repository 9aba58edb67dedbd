import type { FollowedResources } from '../resources/config/config-topic.ts';
import { recordKey } from '../resources/config/stored.ts';
import type { StoredResource, StoredResources } from '../resources/config/stored-resources.ts';
import type { Destination } from '../resources/resource.ts';

/** Kinds of resources that the API changes. */
export type ManagedKind = 'Source' | 'Destination';

/**
 * The stored resources, with the lookups that requests need: none of them takes longer the more destinations there are. Kept
 * up to date with each record.
 */
export class Directory {
  readonly #followed: FollowedResources;
  /** Everything but destinations, which alone are many, and on which nothing else's validity depends. */
  readonly #others = new Map<string, StoredResource>();
  readonly #ids: Readonly<Record<ManagedKind, SortedIds>> = {
    Source: new SortedIds(),
    Destination: new SortedIds(),
  };
  readonly #customerOf = new Map<string, string>();
  readonly #byCustomer = new Map<string, SortedIds>();

  constructor(followed: FollowedResources) {
    this.#followed = followed;
    // In their order, each comes behind the others; else each would move half of them.
    for (const key of [...followed.resources.keys()].sort()) this.#update(key);
    followed.onChange((key) => {
      this.#update(key);
    });
  }

  get(kind: ManagedKind, id: string): StoredResource | undefined {
    return this.#followed.resources.get(recordKey({ kind, id }));
  }

  /** The resources that one of this name is to be compared with: everything but other destinations. */
  beside(kind: ManagedKind, id: string): StoredResources {
    const key = recordKey({ kind, id });
    const stored = this.#followed.resources.get(key);
    if (stored === undefined || kind !== 'Destination') return this.#others;
    return new Map([...this.#others, [key, stored]]);
  }

  /** The customer of a destination. Undefined: there is no destination of the id. */
  customerOf(id: string): { readonly customer: string | undefined } | undefined {
    if (this.get('Destination', id) === undefined) return undefined;
    return { customer: this.#customerOf.get(id) };
  }

  /** Everything, for what may concern any destination. */
  get all(): StoredResources {
    return this.#followed.resources;
  }

  /** In their order. */
  ids(kind: ManagedKind): SortedIds {
    return this.#ids[kind];
  }

  /** The destinations of a customer, in the order of their ids. */
  idsOf(customer: string): SortedIds {
    return this.#byCustomer.get(customer) ?? noIds;
  }

  #update(key: string): void {
    const stored = this.#followed.resources.get(key);
    const [kind = '', id = ''] = key.split('/');
    if (kind === 'Source' || kind === 'Destination') {
      if (stored === undefined) this.#ids[kind].delete(id);
      else this.#ids[kind].add(id);
    }
    if (kind === 'Destination') this.#setCustomer(id, destinationOf(stored)?.customer);
    else if (stored === undefined) this.#others.delete(key);
    else this.#others.set(key, stored);
  }

  #setCustomer(id: string, customer: string | undefined): void {
    const before = this.#customerOf.get(id);
    if (before === customer) return;
    const former = before === undefined ? undefined : this.#byCustomer.get(before);
    former?.delete(id);
    if (before !== undefined && former?.size === 0) this.#byCustomer.delete(before);
    if (customer === undefined) {
      this.#customerOf.delete(id);
      return;
    }
    this.#customerOf.set(id, customer);
    const ids = this.#byCustomer.get(customer) ?? new SortedIds();
    this.#byCustomer.set(customer, ids);
    ids.add(id);
  }
}

/** Undefined: there is none, or its record cannot be read. */
export function destinationOf(stored: StoredResource | undefined): Destination | undefined {
  const resource = stored?.sealed?.sealed;
  return resource?.kind === 'Destination' ? resource : undefined;
}

/** Ids in their order, of which a page is found by its beginning. */
export class SortedIds {
  readonly #ids: string[] = [];

  get size(): number {
    return this.#ids.length;
  }

  add(id: string): void {
    const at = this.#placeOf(id);
    if (this.#ids[at] !== id) this.#ids.splice(at, 0, id);
  }

  delete(id: string): void {
    const at = this.#placeOf(id);
    if (this.#ids[at] === id) this.#ids.splice(at, 1);
  }

  /** The ids behind that one; undefined: from the first. */
  *after(id: string | undefined): Generator<string> {
    const from = id === undefined ? 0 : this.#placeOf(id);
    for (let at = this.#ids[from] === id ? from + 1 : from; at < this.#ids.length; at += 1)
      yield this.#ids[at] ?? '';
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#ids.values();
  }

  /** The place of the id, or where it would be. */
  #placeOf(id: string): number {
    let [from, to] = [0, this.#ids.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#ids[middle] ?? '') < id) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

const noIds = new SortedIds();
