import { randomBytes } from 'node:crypto';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { ResourceName } from '../config/stored.ts';
import { destinationIdOf } from '../notice-hook.ts';
import { endedTombstone, pauseRecord, resumedRecord, uidRecord } from '../pauses/pause.ts';
import type { Pauses } from '../pauses/pauses.ts';
import { recallRecord } from '../pauses/recall.ts';
import type { Change, NewIdentity } from './plan.ts';

/** 72 random bits: no two destinations of one id ever get the same. */
export function newIdentity(): NewIdentity {
  return { uid: randomBytes(9).toString('base64url') };
}

/**
 * For a `config` topic in which nothing was ever written: where there was one before, its destinations come back, and
 * what waits and is kept is theirs. A release that knows no uids made those of which nothing is known.
 */
export function identitiesBefore(
  pauses: Pick<Pauses, 'uidOf' | 'isEmpty'>,
): (name: ResourceName) => NewIdentity {
  return (name) => {
    const uid = pauses.uidOf(destinationIdOf(name) ?? '');
    if (pauses.isEmpty) return { uid };
    const which = uid === undefined ? 'first' : 'last';
    const note = `the config topic is empty: what is kept for the ${which} destination of this id is for this one`;
    return { uid, note };
  };
}

/** Records of `pauses` that go with changes. */
export interface IdentityRecords {
  readonly before: readonly OutgoingRecord[];
  readonly after: readonly OutgoingRecord[];
}

/**
 * A second place says which destination has an id, before anything of that destination can be anywhere. What `pauses`
 * has under the id of a deleted destination is in force for none, and only takes room.
 */
export function identityRecords(
  changes: readonly Change[],
  ended: Iterable<string>,
  topic: string,
): IdentityRecords {
  const before = Array.from(ended, (id) => endedTombstone(topic, id));
  const after: OutgoingRecord[] = [];
  for (const change of changes) {
    const id = destinationIdOf(change);
    if (id === undefined) continue;
    const { action, resource } = change;
    if (action === 'create' && resource !== undefined && 'uid' in resource)
      before.push(uidRecord(topic, id, resource.uid));
    if (action === 'delete')
      after.push(
        pauseRecord(topic, { id }, undefined),
        resumedRecord(topic, { id }, undefined),
        recallRecord(topic, { id }, undefined),
        uidRecord(topic, id, undefined),
      );
  }
  return { before, after };
}
