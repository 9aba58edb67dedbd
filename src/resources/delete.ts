import { PostriderError } from '../errors.ts';
import { planDelete, type Change } from './plan.ts';
import { recordKey, type ResourceName } from './stored.ts';
import { ofKind, type StoredResources } from './stored-resources.ts';

/**
 * The deletion of one resource, to be written with `writeChanges`.
 * @throws PostriderError `not-found`; `resource-invalid` for a source that destinations still name
 */
export function planDeletion(stored: StoredResources, name: ResourceName): Change {
  const { kind, id } = name;
  if (!stored.has(recordKey(name)))
    throw new PostriderError('not-found', `there is no ${kind} ${id}`);
  const users = kind === 'Source' ? destinationsNaming(stored, id) : [];
  if (users.length > 0)
    throw new PostriderError(
      'resource-invalid',
      `Source ${id} cannot be deleted, because these destinations name it: ${users.join(', ')}`,
    );
  return planDelete(name);
}

function destinationsNaming(stored: StoredResources, sourceId: string): string[] {
  return ofKind(stored, 'Destination').flatMap(({ name, sealed }) =>
    sealed?.sealed.kind === 'Destination' && sealed.sealed.sources.includes(sourceId)
      ? [name.id]
      : [],
  );
}
