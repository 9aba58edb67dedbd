import type { OutgoingRecord } from '../../kafka/record.ts';
import { endedRecord, pauseRecord, resumedRecord } from '../pauses/pause.ts';
import { recordKey } from '../config/stored.ts';
import type { StoredResources } from '../config/stored-resources.ts';
import type { Pauses } from '../pauses/pauses.ts';
import type { Topology } from '../../topology.ts';
import type { Change } from './plan.ts';

/** The records that end pauses. */
export interface PauseEnds {
  /** To be written before the changes: a destination that begins is not paused, and nothing is kept for it. */
  readonly before: readonly OutgoingRecord[];
  /** To be written after them: a pause goes with its destination, and what was kept for it stays behind. */
  readonly after: readonly OutgoingRecord[];
}

export interface PauseEndsOptions {
  readonly topology: Pick<Topology, 'topics' | 'pausedGoneMs' | 'endedGoneMs'>;
  readonly nowMs: number;
  /** Read after the pauses; not looked at unless `isLeftByFormer`. */
  readonly stored: StoredResources;
}

/** Whether a pause may be left under the id of one of the changes. */
export function mayLeavePauses(changes: readonly Change[]): boolean {
  return changes.some((change) => isBegun(change) || isGone(change));
}

/** Whether something is left under the id of a destination that begins: then what is stored has to be known. */
export function isLeftByFormer(changes: readonly Change[], pauses: LeftPauses): boolean {
  return changes.some((change) => isBegun(change) && isLeft(change, pauses));
}

type LeftPauses = Pick<Pauses, 'has' | 'resumedSince' | 'endedMs'>;

function isLeft({ id }: Change, pauses: LeftPauses): boolean {
  return (
    pauses.has(id) || pauses.resumedSince(id) !== undefined || pauses.endedMs(id) !== undefined
  );
}

/**
 * Ends what is left under the ids of destinations that begin or go. A destination that is made again would
 * otherwise keep its events for somebody who never paused it, and get what was kept for the former one.
 */
export function pauseEndsOf(
  changes: readonly Change[],
  pauses: LeftPauses & Pick<Pauses, 'endedBefore'>,
  { topology, nowMs, stored }: PauseEndsOptions,
): PauseEnds {
  const topic = topology.topics.pauses;
  const since = new Date(nowMs).toISOString();
  const endsFor = ({ id }: Change): OutgoingRecord[] => [
    ...(pauses.has(id) ? [pauseRecord(topic, id, undefined)] : []),
    ...(pauses.resumedSince(id) === undefined ? [] : [resumedRecord(topic, id, undefined)]),
  ];
  // Where nothing is stored, the configuration was lost, and what was not deleted before is still paused.
  const isFormer = ({ id }: Change): boolean =>
    stored.size > 0 || (pauses.endedMs(id) ?? -Infinity) >= nowMs - topology.pausedGoneMs;
  // What another apply has made since these changes were planned is paused for a reason of its own.
  const begun = changes.filter(
    (each) => isBegun(each) && !stored.has(recordKey(each)) && isFormer(each),
  );
  const gone = changes.filter(isGone);
  // Whoever is cut off after one of the records has written the one that shows the next command what is left.
  return {
    before: [
      // Until now a worker that had not heard of the deletion may have kept more, or whoever deleted the former
      // destination was cut off before writing this record.
      ...begun
        .filter((each) => isLeft(each, pauses))
        .map(({ id }) => endedRecord(topic, id, since)),
      ...begun.flatMap(endsFor),
    ],
    after: [
      ...pauses
        .endedBefore(nowMs - topology.endedGoneMs)
        .map((id) => endedRecord(topic, id, undefined)),
      ...gone.map(({ id }) => endedRecord(topic, id, since)),
      ...gone.flatMap(endsFor),
    ],
  };
}

function isBegun({ kind, action }: Change): boolean {
  return kind === 'Destination' && action === 'create';
}

function isGone({ kind, action }: Change): boolean {
  return kind === 'Destination' && action === 'delete';
}
