import type { Identity } from '../event/uid.ts';
import { recordKey } from './config/stored.ts';
import { notStored, ofKind, type StoredResources } from './config/stored-resources.ts';

/** Undefined: there is none. */
export function findDestination(stored: StoredResources, id: string): Identity | undefined {
  const found = stored.get(recordKey({ kind: 'Destination', id }));
  return found && { id, uid: found.uid };
}

/** @throws PostriderError `not-found`, which names those that there are */
export function requireDestination(stored: StoredResources, id: string): Identity {
  const found = findDestination(stored, id);
  if (found !== undefined) return found;
  const known = ofKind(stored, 'Destination').map(({ name }) => name.id);
  throw notStored('destination', id, known);
}
