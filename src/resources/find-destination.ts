import type { Identity } from '../event/uid.ts';
import { recordKey } from './config/stored.ts';
import { notStored, ofKind, type StoredResources } from './config/stored-resources.ts';

/** @throws PostriderError `not-found`, which names those that there are */
export function requireDestination(stored: StoredResources, id: string): Identity {
  const found = stored.get(recordKey({ kind: 'Destination', id }));
  if (found !== undefined) return { id, uid: found.uid };
  const known = ofKind(stored, 'Destination').map(({ name }) => name.id);
  throw notStored('destination', id, known);
}
