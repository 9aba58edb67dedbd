import { PostriderError } from '../errors.ts';
import { hintAmong } from '../near.ts';
import { ofKind, type StoredResources } from '../resources/config/stored-resources.ts';

/** What the deletion of a user at one source concerns. */
export interface AffectedSource {
  readonly sourceId: string;
  /** Enabled and connected to it: each gets a notification. */
  readonly destinationIds: readonly string[];
  /** Connected and disabled: they get none. */
  readonly disabledIds: readonly string[];
}

/**
 * The sources that are meant: the one that is named, else all, those too that this version cannot read.
 * @throws PostriderError `not-found`
 */
export function findSources(resources: StoredResources, named: string | undefined): string[] {
  const known = ofKind(resources, 'Source').map(({ name }) => name.id);
  if (known.length === 0)
    throw new PostriderError('not-found', 'there are no sources yet: apply one first');
  if (named === undefined) return known;
  if (known.includes(named)) return [named];
  const message = `there is no source ${named}${hintAmong(named, known, 'known are')}`;
  throw new PostriderError('not-found', message);
}

/**
 * Their destinations' filters do not matter.
 * @throws PostriderError `resource-invalid` for a destination that this version cannot read
 */
export function affectedBy(
  resources: StoredResources,
  sourceIds: readonly string[],
): AffectedSource[] {
  const destinations = ofKind(resources, 'Destination').map(({ name, sealed }) => {
    if (sealed?.sealed.kind === 'Destination') return sealed.sealed;
    const message = `destination ${name.id} cannot be read by this version, so it is not known whether it is to be notified`;
    throw new PostriderError('resource-invalid', message);
  });
  return sourceIds.map((sourceId) => {
    const connected = destinations.filter(({ sources }) => sources.includes(sourceId));
    const idsOf = (enabled: boolean): string[] =>
      connected.filter((destination) => destination.enabled === enabled).map(({ id }) => id);
    return { sourceId, destinationIds: idsOf(true), disabledIds: idsOf(false) };
  });
}
