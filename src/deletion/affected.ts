import { PostriderError } from '../errors.ts';
import { notStored, ofKind, type StoredResources } from '../resources/config/stored-resources.ts';

/** The part of a user's deletion that concerns one source. */
export interface AffectedSource {
  readonly sourceId: string;
  /** Enabled and connected to the source: each gets a notification. */
  readonly destinationIds: readonly string[];
  /** Connected and disabled: they get no notification. */
  readonly disabledIds: readonly string[];
}

/**
 * The named source, or all, including those that this version cannot read.
 * @throws PostriderError `not-found`
 */
export function findSources(resources: StoredResources, named: string | undefined): string[] {
  const known = ofKind(resources, 'Source').map(({ name }) => name.id);
  if (known.length === 0)
    throw new PostriderError('not-found', 'there are no sources yet: apply one first');
  if (named === undefined) return known;
  if (known.includes(named)) return [named];
  throw notStored('source', named, known);
}

/**
 * The destinations of each source, whatever their filters.
 * @throws PostriderError `resource-invalid` for a destination that this version cannot read
 */
export function affectedBy(
  resources: StoredResources,
  sourceIds: readonly string[],
): AffectedSource[] {
  const destinations = ofKind(resources, 'Destination').map(({ name, sealed }) => {
    if (sealed?.sealed.kind === 'Destination') return sealed.sealed;
    const message = `destination ${name.id} cannot be read by this version, so it is not known whether it must be notified`;
    throw new PostriderError('resource-invalid', message);
  });
  return sourceIds.map((sourceId) => {
    const connected = destinations.filter(({ sources }) => sources.includes(sourceId));
    const idsOf = (enabled: boolean): string[] =>
      connected.filter((destination) => destination.enabled === enabled).map(({ id }) => id);
    return { sourceId, destinationIds: idsOf(true), disabledIds: idsOf(false) };
  });
}
