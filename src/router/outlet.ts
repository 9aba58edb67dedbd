import type { Call } from '../event/call.ts';
import type { RoutedDestination } from '../resources/config/config.ts';
import { partitionKeyOf } from '../resources/partition-key.ts';

/** What the router needs of a destination, looked up in constant time. */
export interface Outlet {
  readonly topic: string;
  /** See `partitionKeyOf`. */
  readonly partitionKey: string | undefined;
  wants(call: Call): boolean;
}

export interface DeliveryTopics {
  readonly shared: string;
  dedicated(destinationId: string): string;
}

export function createOutlet(destination: RoutedDestination, topics: DeliveryTopics): Outlet {
  const { id, topic } = destination;
  const events = destination.events === undefined ? undefined : new Set<string>(destination.events);
  const names =
    destination.eventNames === undefined ? undefined : new Set<unknown>(destination.eventNames);
  return {
    topic: topic === 'dedicated' ? topics.dedicated(id) : topics.shared,
    partitionKey: partitionKeyOf(destination),
    wants: ({ type, fields }) =>
      (events === undefined || events.has(type)) &&
      (names === undefined || type !== 'track' || names.has(fields['event'])),
  };
}
