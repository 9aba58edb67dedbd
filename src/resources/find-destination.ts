import { recordKey } from './config/stored.ts';
import { notStored, ofKind, type StoredResources } from './config/stored-resources.ts';

/** @throws PostriderError `not-found`, which names those that there are */
export function requireDestination(stored: StoredResources, id: string): void {
  if (stored.has(recordKey({ kind: 'Destination', id }))) return;
  const known = ofKind(stored, 'Destination').map(({ name }) => name.id);
  throw notStored('destination', id, known);
}
