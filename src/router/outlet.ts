import type { Call } from '../event/call.ts';
import type { RoutedDestination } from '../resources/config/config.ts';

/** What the router needs of a destination, looked up in constant time. */
export interface Outlet {
  readonly topic: string;
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
    wants: ({ type, fields }) =>
      (events === undefined || events.has(type)) &&
      (names === undefined || type !== 'track' || names.has(fields['event'])),
  };
}
