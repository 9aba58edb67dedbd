import { PostriderError } from '../errors.ts';
import { readStoredResources, type ConfigTopicAccess } from '../resources/config/config-topic.ts';
import type { Audience, ComputedTrait } from '../resources/resource.ts';
import type { SecretKeys } from '../resources/config/secrets.ts';
import {
  notStored,
  ofKind,
  readableOfKind,
  type StoredResource,
} from '../resources/config/stored-resources.ts';
import { openResource } from '../resources/config/stored.ts';

export interface FoundAudiences {
  readonly audiences: readonly (Audience | ComputedTrait)[];
  /** The destinations connected to each source. */
  readonly destinationsOf: (sourceId: string) => readonly string[];
  /** Says whether an audience or computed trait with this id exists, selected or not. */
  readonly isKnown: (id: string) => boolean;
}

/**
 * The audiences and computed traits with these ids, or all without ids, as they are stored now.
 * @throws PostriderError `not-found` for an unknown id, `resource-invalid`, `secret-unreadable`
 */
export async function findAudiences(
  access: ConfigTopicAccess,
  ids: readonly string[],
  keys: SecretKeys,
): Promise<FoundAudiences> {
  const stored = await readStoredResources(access);
  const all = [...ofKind(stored, 'Audience'), ...ofKind(stored, 'ComputedTrait')];
  const wanted = ids.length === 0 ? all.map(({ name }) => name.id) : ids;
  const audiences = [...new Set(wanted)].map((id) => open(find(all, id), keys));
  const connected = readableOfKind(stored, 'Destination');
  return {
    audiences,
    isKnown: (id) => all.some(({ name }) => name.id === id),
    destinationsOf: (sourceId) =>
      connected.filter(({ sources }) => sources.includes(sourceId)).map(({ id }) => id),
  };
}

/** Both kinds share their ids, because memberships are stored under the id. */
function find(all: readonly StoredResource[], id: string): StoredResource {
  const found = all.find(({ name }) => name.id === id);
  if (found !== undefined) return found;
  throw notStored(
    'audience or computed trait',
    id,
    all.map(({ name }) => name.id),
  );
}

function open({ name, sealed }: StoredResource, keys: SecretKeys): Audience | ComputedTrait {
  const resource = sealed === undefined ? undefined : openResource(sealed, keys);
  if (resource?.kind === 'Audience' || resource?.kind === 'ComputedTrait') return resource;
  throw new PostriderError('resource-invalid', `stored, but not readable: ${name.kind} ${name.id}`);
}
