import { valueAt, type CallPath } from '../../event/call-path.ts';
import type { Call } from '../../event/call.ts';
import { lookupsOf, type Lookup } from '../../event/filter.ts';
import type { Destination } from '../resource.ts';

/** The part of a destination that routing needs. */
export type RoutedDestination = Omit<Destination, 'sharedSecret' | 'formerSecrets' | 'webhooks'>;

/** The part of `ConnectedDestinations` that changes nothing. */
export type Connected = Pick<ConnectedDestinations, 'get' | 'candidates'>;

/**
 * The enabled destinations of one source, by the calls that they can want. A destination whose filter demands one of
 * some values at a path is found by the call's value there, so those that want other values cost a call nothing. A
 * change costs what its own destination has, however many others there are.
 */
export class ConnectedDestinations {
  readonly #places = new Map<string, Place>();
  /** The destinations that are looked at for every call, ordered by id. */
  readonly #others: RoutedDestination[] = [];
  /** By the path's text. */
  readonly #byPath = new Map<string, ByValue>();

  get size(): number {
    return this.#places.size;
  }

  get(id: string): RoutedDestination | undefined {
    return this.#places.get(id)?.destination;
  }

  /**
   * The destinations that can want the call, ordered by id, so that routing again gives the same order. Each that is
   * left out has a filter that the call doesn't pass.
   */
  candidates(call: Call): readonly RoutedDestination[] {
    const found = this.#others.length === 0 ? [] : [this.#others];
    for (const { path, destinations } of this.#byPath.values()) {
      const wanting = destinations.get(valueAt(call, path));
      if (wanting !== undefined) found.push(wanting);
    }
    const [first = none] = found;
    return found.length < 2 ? first : found.flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** There must be none with its id. */
  put(destination: RoutedDestination): void {
    const lookup = this.#chooseLookup(destination);
    this.#places.set(destination.id, { destination, lookup });
    if (lookup === undefined) {
      insert(this.#others, destination);
      return;
    }
    const { text, path, values } = lookup;
    const byValue: ByValue = this.#byPath.get(text) ?? { path, destinations: new Map() };
    this.#byPath.set(text, byValue);
    for (const value of values) {
      const wanting = byValue.destinations.get(value);
      if (wanting === undefined) byValue.destinations.set(value, [destination]);
      else insert(wanting, destination);
    }
  }

  remove(id: string): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    if (place.lookup === undefined) {
      removeFrom(this.#others, id);
      return;
    }
    const { text, values } = place.lookup;
    const destinations = this.#byPath.get(text)?.destinations;
    for (const value of values) {
      const wanting = destinations?.get(value);
      if (wanting === undefined) continue;
      removeFrom(wanting, id);
      if (wanting.length === 0) destinations?.delete(value);
    }
    if (destinations?.size === 0) this.#byPath.delete(text);
  }

  /**
   * The condition of its filter that it shares with the fewest others: of `type: track` and an account's id, the
   * latter, from the second destination on. The choice depends on the order of changes; the candidates that also pass
   * their filter don't.
   */
  #chooseLookup({ filter }: RoutedDestination): Lookup | undefined {
    let best: Lookup | undefined;
    let fewest = Infinity;
    for (const lookup of filter === undefined ? [] : lookupsOf(filter)) {
      const destinations = this.#byPath.get(lookup.text)?.destinations;
      let most = 0;
      for (const value of lookup.values)
        most = Math.max(most, destinations?.get(value)?.length ?? 0);
      if (most >= fewest) continue;
      best = lookup;
      fewest = most;
    }
    return best;
  }
}

interface Place {
  readonly destination: RoutedDestination;
  /** The condition by which it is found; undefined: it is one of the others. */
  readonly lookup: Lookup | undefined;
}

interface ByValue {
  readonly path: CallPath;
  /** None is empty, and each is ordered by id. */
  readonly destinations: Map<unknown, RoutedDestination[]>;
}

const none: readonly RoutedDestination[] = Object.freeze([]);

function insert(sorted: RoutedDestination[], destination: RoutedDestination): void {
  sorted.splice(placeOf(sorted, destination.id), 0, destination);
}

function removeFrom(sorted: RoutedDestination[], id: string): void {
  const place = placeOf(sorted, id);
  if (sorted[place]?.id === id) sorted.splice(place, 1);
}

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
