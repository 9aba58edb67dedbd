import { z } from 'zod';
import type { OutgoingRecord } from '../../kafka/record.ts';

/**
 * Why nothing is sent to a destination for now: a record of the topic `pauses`, whose key is the
 * destination's id.
 */
export interface Pause {
  /** ISO 8601, UTC. */
  readonly since: string;
  /**
   * Events that were kept before then are not for the next `resume`. Earlier than `since` where events of a former pause are
   * left. Absent: not known, as in records of former releases.
   */
  readonly keptSince?: string;
  /** Set if `disableAfter` paused the destination: since when it had failed. Absent if an operator did. */
  readonly failingSince?: string;
}

const schema = z.object({
  since: z.iso.datetime(),
  keptSince: z.exactOptional(z.iso.datetime()),
  failingSince: z.exactOptional(z.iso.datetime()),
});

/** Begin the keys of records that are no pauses. Ids of destinations have no colon. */
const marks = ['resumed', 'ended'] as const;
type Mark = (typeof marks)[number];

/**
 * Says since when a destination is resumed while events that were kept for it may be left; undefined: none is.
 * A release that does not know this record takes it for the pause of a destination that does not exist.
 */
export function resumedRecord(
  topic: string,
  destinationId: string,
  resumed: Pick<Pause, 'since' | 'keptSince'> | undefined,
): OutgoingRecord {
  return markRecord(topic, 'resumed', destinationId, resumed);
}

/**
 * Says that the destination of this id was deleted: what was kept before the record's append time is not for
 * another one that has the id since. Undefined removes it.
 */
export function endedRecord(
  topic: string,
  destinationId: string,
  since: string | undefined,
): OutgoingRecord {
  return markRecord(topic, 'ended', destinationId, since === undefined ? undefined : { since });
}

function markRecord(
  topic: string,
  mark: Mark,
  destinationId: string,
  said: object | undefined,
): OutgoingRecord {
  const value = said === undefined ? null : JSON.stringify(said);
  return { topic, key: `${mark}:${destinationId}`, value };
}

/** What a record of `pauses` is about. */
export interface PauseKey {
  readonly says: 'paused' | Mark;
  readonly destinationId: string;
}

export function readPauseKey(key: string): PauseKey {
  const mark = marks.find((each) => key.startsWith(`${each}:`));
  return mark === undefined
    ? { says: 'paused', destinationId: key }
    : { says: mark, destinationId: key.slice(mark.length + 1) };
}

/** Undefined ends the pause. */
export function pauseRecord(
  topic: string,
  destinationId: string,
  pause: Pause | undefined,
): OutgoingRecord {
  return { topic, key: destinationId, value: pause === undefined ? null : JSON.stringify(pause) };
}

/**
 * Undefined: the destination is not paused. An unreadable record pauses it too, because kept events can be
 * sent later, and sent ones cannot be taken back.
 */
export function decodePause(value: Buffer | null): Pause | undefined {
  if (value === null) return undefined;
  try {
    return schema.parse(JSON.parse(value.toString()));
  } catch {
    return { since: new Date(0).toISOString() };
  }
}
