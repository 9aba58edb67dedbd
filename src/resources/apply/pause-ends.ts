import type { OutgoingRecord } from '../../kafka/record.ts';
import { pauseRecord, resumedRecord } from '../pauses/pause.ts';
import type { Pauses } from '../pauses/pauses.ts';
import type { Change } from './plan.ts';

/** The records that end pauses. */
export interface PauseEnds {
  /** To be written before the changes: a destination that begins is not paused. */
  readonly before: readonly OutgoingRecord[];
  /** To be written after them: a pause goes with its destination. */
  readonly after: readonly OutgoingRecord[];
}

/** Whether a pause may be left under the id of one of the changes. */
export function mayLeavePauses(changes: readonly Change[]): boolean {
  return changes.some((change) => isBegun(change) || isGone(change));
}

/**
 * Ends what is left under the ids of destinations that begin or go. A destination that is made again would
 * otherwise keep its events for somebody who never paused it.
 * @param topic `pauses`
 */
export function pauseEndsOf(
  changes: readonly Change[],
  pauses: Pick<Pauses, 'has' | 'resumedSince'>,
  topic: string,
): PauseEnds {
  const endsFor = ({ id }: Change): OutgoingRecord[] => [
    ...(pauses.has(id) ? [pauseRecord(topic, id, undefined)] : []),
    ...(pauses.resumedSince(id) === undefined ? [] : [resumedRecord(topic, id, undefined)]),
  ];
  return {
    before: changes.filter(isBegun).flatMap(endsFor),
    after: changes.filter(isGone).flatMap(endsFor),
  };
}

function isBegun({ kind, action }: Change): boolean {
  return kind === 'Destination' && action === 'create';
}

function isGone({ kind, action }: Change): boolean {
  return kind === 'Destination' && action === 'delete';
}
