import type { Destination } from './resource.ts';

/**
 * What the partition of a destination's events is computed from; undefined: each event's key.
 *
 * With a rate limit, all events are in one partition of each topic, so that one worker has the whole limit,
 * and nothing is lost by dividing it. The order of a user's events still follows each event's key.
 */
export function partitionKeyOf({
  id,
  rateLimit,
}: Pick<Destination, 'id' | 'rateLimit'>): string | undefined {
  return rateLimit === undefined ? undefined : id;
}
