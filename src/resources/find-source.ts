import { PostriderError } from '../errors.ts';
import { hintAmong } from '../near.ts';
import { readStoredResources, type ConfigTopicAccess } from './config/config-topic.ts';
import type { Source } from './resource.ts';
import { ofKind } from './config/stored-resources.ts';

/**
 * The source as it is stored now. Needs no secret key.
 * @throws PostriderError `not-found`, which lists the existing sources
 */
export async function findSource(access: ConfigTopicAccess, id: string): Promise<Source> {
  const sources = ofKind(await readStoredResources(access), 'Source').flatMap(({ sealed }) =>
    sealed?.sealed.kind === 'Source' ? [sealed.sealed] : [],
  );
  const found = sources.find((source) => source.id === id);
  if (found !== undefined) return found;
  const known = sources.map((source) => source.id);
  const others =
    known.length === 0
      ? '; there are none yet: apply one first'
      : hintAmong(id, known, 'known are');
  throw new PostriderError('not-found', `there is no source ${id}${others}`);
}
