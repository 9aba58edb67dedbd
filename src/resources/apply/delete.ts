import { PostriderError } from '../../errors.ts';
import { hintAt } from '../../near.ts';
import { planDelete, type Change } from './plan.ts';
import type { Resource } from '../resource.ts';
import { recordKey, type ResourceName } from '../config/stored.ts';
import { ofKind, type StoredResources } from '../config/stored-resources.ts';

/**
 * The deletion of one resource, to be written with `writeChanges`.
 * @throws PostriderError `not-found`; `resource-invalid` for a resource that others still refer to
 */
export function planDeletion(stored: StoredResources, name: ResourceName): Change {
  const { kind, id } = name;
  if (!stored.has(recordKey(name))) {
    const known = ofKind(stored, kind).map((each) => each.name.id);
    throw new PostriderError('not-found', `there is no ${kind} ${id}${hintAt(id, known)}`);
  }
  const users = [...stored.values()]
    .flatMap(({ sealed }) => sealed?.sealed ?? [])
    .filter((resource) => isNamedBy(name, resource))
    .map((resource) => `${resource.kind} ${resource.id}`)
    .sort();
  if (users.length > 0)
    throw new PostriderError(
      'resource-invalid',
      `${kind} ${id} cannot be deleted, because it is named by ${users.join(', ')}`,
    );
  return planDelete(name);
}

function isNamedBy({ kind, id }: ResourceName, resource: Resource): boolean {
  if (resource.kind === 'Source' || resource.kind === 'NoticeHook') return false;
  if (kind === 'Source')
    return resource.kind === 'Destination' ? resource.sources.includes(id) : resource.source === id;
  return (
    kind === 'Destination' &&
    resource.kind !== 'Destination' &&
    resource.destinations?.includes(id) === true
  );
}
