import { formatDuration, parseDuration } from '../../duration.ts';
import { longestLinkMs } from '../../topology.ts';

/** Terms of links, to one destination or to all of a customer's. */

/** A link's path on the console begins with this; its token follows. */
export const linkPath = '/l/';

const shortestLinkMs = 60_000;
/** The durations that a link may have, in words. */
export const linkDurations: string = `from ${formatDuration(shortestLinkMs)} to ${formatDuration(longestLinkMs)}`;

/** Undefined for text that is no duration, or not one of `linkDurations`. */
export function readLinkDuration(given: string): number | undefined {
  const lastsMs = parseDuration(given) ?? NaN;
  return lastsMs >= shortestLinkMs && lastsMs <= longestLinkMs ? lastsMs : undefined;
}
