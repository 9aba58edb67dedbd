import { readStoredResources, type ConfigTopicAccess } from './config/config-topic.ts';
import type { Source } from './resource.ts';
import { notStored, readableOfKind } from './config/stored-resources.ts';

/**
 * The source as it is stored now. Needs no secret key.
 * @throws PostriderError `not-found`, which lists the existing sources
 */
export async function findSource(access: ConfigTopicAccess, id: string): Promise<Source> {
  const sources = readableOfKind(await readStoredResources(access), 'Source');
  const found = sources.find((source) => source.id === id);
  if (found !== undefined) return found;
  throw notStored(
    'source',
    id,
    sources.map((source) => source.id),
  );
}
