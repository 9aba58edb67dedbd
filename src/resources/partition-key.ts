import type { Destination } from './resource.ts';

/**
 * What the partition of a destination's events is computed from; undefined: of each event, its key.
 *
 * With a rate limit all of them are in one partition of each topic, so that one worker has all of the limit,
 * and nothing is lost by dividing it. In order and in a lane, an event goes by its key all the same.
 */
export function partitionKeyOf({
  id,
  rateLimit,
}: Pick<Destination, 'id' | 'rateLimit'>): string | undefined {
  return rateLimit === undefined ? undefined : id;
}
