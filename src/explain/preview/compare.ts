import { ConfigIndex } from '../../resources/config/config-index.ts';
import type { Destination, Source } from '../../resources/resource.ts';
import type { ReadCall } from '../../router/read-call.ts';
import { routesOf } from '../rulings.ts';
import { noTopics } from './preview.ts';

/** The numbers of calls of a source that a changed destination treats differently. */
export interface Treated {
  readonly source: string;
  /** The calls that were looked at. */
  readonly calls: number;
  /** The calls that the new version alone sends. */
  readonly more: number;
  /** The calls that the former version alone sends. */
  readonly fewer: number;
  /** The calls that both send, with different bodies. */
  readonly otherBody: number;
}

/**
 * Decides on each call as the router would with both versions of a destination.
 * @param before undefined: the destination is new
 * @param after undefined: it is deleted
 */
export function compareVersions(
  before: Destination | undefined,
  after: Destination | undefined,
  source: Source,
  calls: readonly ReadCall[],
): Treated {
  const bodyBefore = bodiesBy(before, source);
  const bodyAfter = bodiesBy(after, source);
  const counts = { more: 0, fewer: 0, otherBody: 0 };
  for (const read of calls) {
    const [former, present] = [bodyBefore(read), bodyAfter(read)];
    if (former === undefined && present !== undefined) counts.more += 1;
    else if (former !== undefined && present === undefined) counts.fewer += 1;
    else if (former !== present) counts.otherBody += 1;
  }
  return { source: source.id, calls: calls.length, ...counts };
}

/** The body that the destination gets; undefined: none. */
function bodiesBy(
  destination: Destination | undefined,
  source: Source,
): (read: ReadCall) => string | undefined {
  const index = new ConfigIndex();
  if (destination !== undefined) index.put(destination);
  const routes = routesOf(index, noTopics);
  return (read) => routes.route(read, source)[0]?.value?.toString();
}
