import { isOf, type Identity, type WithUid } from '../event/uid.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import type { Destination } from '../resources/resource.ts';
import type { Over } from './verdict.ts';

/** The part of the configuration that deliveries need. */
export interface Destinations {
  /** The offset up to which the config topic has been read. */
  readonly offset: number;
  destination(id: string): Destination | undefined;
  destinations(): Iterable<Destination>;
  isUnreadable(destinationId: string): boolean;
  uidOf(destinationId: string): string | undefined;
  isFresh(): boolean;
}

/** The reason not to send an event of an earlier destination to the present one of its id. */
export const ofEarlier: Over = {
  kind: 'unwanted',
  reason: 'destination-deleted',
  cause: 'another destination has its id since',
};

/** Says which destinations get events now, by the configuration and the pauses that this worker has read. */
export class KnownDestinations {
  readonly #destinations: Destinations;
  readonly #paused: Pick<FollowedPauses, 'has'>;

  constructor(destinations: Destinations, paused: Pick<FollowedPauses, 'has'>) {
    this.#destinations = destinations;
    this.#paused = paused;
  }

  identityOf(id: string): Identity {
    return { id, uid: this.#destinations.uidOf(id) };
  }

  /** @returns undefined if events are sent, or if the destination's present version cannot be read here */
  whyNothingIsSent(id: string): Over | undefined {
    const destination = this.#destinations.destination(id);
    const isUnreadable = this.#destinations.isUnreadable(id);
    if (destination === undefined && !isUnreadable)
      return { kind: 'unwanted', reason: 'destination-deleted' };
    if (this.isPaused(id)) return { kind: 'paused' };
    if (destination?.enabled !== false || isUnreadable) return undefined;
    return { kind: 'unwanted', reason: 'destination-disabled' };
  }

  isPaused(id: string): boolean {
    return this.#paused.has(this.identityOf(id));
  }

  /** Another destination has the id now than the one that the record or the lane belongs to. */
  isAnother(id: string, than: WithUid): boolean {
    const present = this.#destinations.destination(id);
    return present !== undefined && !isOf(present, than);
  }

  /** The destination cannot be read, and there is no newer version that this worker has not seen yet. */
  isSurelyUnreadable(id: string): boolean {
    return this.#destinations.isFresh() && this.#destinations.isUnreadable(id);
  }

  get areSeveral(): boolean {
    const destinations = this.#destinations.destinations()[Symbol.iterator]();
    return destinations.next().done !== true && destinations.next().done !== true;
  }
}
