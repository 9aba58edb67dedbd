import { PostriderError } from '../errors.ts';
import { hintAmong } from '../near.ts';
import { recordKey } from './config/stored.ts';
import { ofKind, type StoredResources } from './config/stored-resources.ts';

/** @throws PostriderError `not-found`, which names those that there are */
export function requireDestination(stored: StoredResources, id: string): void {
  if (stored.has(recordKey({ kind: 'Destination', id }))) return;
  const known = ofKind(stored, 'Destination').map(({ name }) => name.id);
  const others = known.length === 0 ? '; there are none yet' : hintAmong(id, known, 'known are');
  throw new PostriderError('not-found', `there is no destination ${id}${others}`);
}
