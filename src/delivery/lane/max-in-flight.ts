import { mostInFlight, type Destination } from '../../resources/resource.ts';
import type { DeliveryEvents } from '../events.ts';
import type { SlotPool } from './slot-pool.ts';

interface MaxInFlightContext {
  readonly pool: SlotPool;
  readonly events: DeliveryEvents;
  readonly maxInFlightPerDestination: number;
}

/**
 * How many deliveries of the destination this worker may have in flight. `apply` refuses more than
 * `mostInFlight`, but it may have run before that bound existed, or with another DELIVERY_MAX_IN_FLIGHT.
 */
export function maxInFlightOf(destination: Destination, context: MaxInFlightContext): number {
  const most = mostInFlight(context.pool.size);
  const wanted = destination.maxInFlight;
  if (wanted === undefined) return Math.min(context.maxInFlightPerDestination, most);
  if (wanted > most) context.events.maxInFlightBounded(destination, most);
  return Math.min(wanted, most);
}
