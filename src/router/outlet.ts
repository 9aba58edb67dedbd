import type { Call } from '../event/call.ts';
import type { RoutedDestination } from '../resources/config/config.ts';
import { partitionKeyOf } from '../resources/partition-key.ts';

/** The rule by which a destination does not get a call. */
export type Unwanted = 'integrations' | 'audience' | 'events' | 'event-names';

/** What the router needs of a destination, looked up in constant time. */
export interface Outlet {
  readonly topic: string;
  /** How long events wait while the topic cannot be written; undefined: there is no other topic for them. */
  readonly elsewhereAfterMs: number | undefined;
  /** See `partitionKeyOf`. */
  readonly partitionKey: string | undefined;
  /** By the destination's own rules; undefined: it wants the call. */
  unwanted(call: Call): Unwanted | undefined;
}

export interface DeliveryTopics {
  readonly shared: string;
  dedicated(destinationId: string): string;
}

/**
 * Longer than Kafka takes to notice that a broker crashed and to elect leaders: an event that takes another way may
 * overtake others of its user.
 */
const dedicatedPatienceMs = 15_000;

export function createOutlet(destination: RoutedDestination, topics: DeliveryTopics): Outlet {
  const { id, topic } = destination;
  const events = destination.events === undefined ? undefined : new Set<string>(destination.events);
  const names =
    destination.eventNames === undefined ? undefined : new Set<unknown>(destination.eventNames);
  const isDedicated = topic === 'dedicated';
  return {
    topic: isDedicated ? topics.dedicated(id) : topics.shared,
    elsewhereAfterMs: isDedicated ? dedicatedPatienceMs : undefined,
    partitionKey: partitionKeyOf(destination),
    unwanted: ({ type, fields }) => {
      if (events?.has(type) === false) return 'events';
      return type === 'track' && names?.has(fields['event']) === false ? 'event-names' : undefined;
    },
  };
}
