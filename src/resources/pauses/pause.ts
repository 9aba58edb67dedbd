import { z } from 'zod';
import { isUid, type Identity, type WithUid } from '../../event/uid.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';

/**
 * Why nothing is sent to a destination for now: a record of the topic `pauses`, whose key is the
 * destination's id.
 */
export interface Pause extends WithUid {
  /** ISO 8601, UTC. */
  readonly since: string;
  /**
   * Events that were kept before then are not for the next `resume`. Earlier than `since` where events of a former pause are
   * left. Absent: not known, as in records of former releases.
   */
  readonly keptSince?: string;
  /** Set if a worker paused the destination: since when it had failed. Absent if an operator did. */
  readonly failingSince?: string;
  /** Its endpoint has answered 410: it takes no more events. Absent if `disableAfter` was the reason. */
  readonly isGone?: true;
}

const schema = z.object({
  uid: z.exactOptional(z.string()),
  since: z.iso.datetime(),
  keptSince: z.exactOptional(z.iso.datetime()),
  failingSince: z.exactOptional(z.iso.datetime()),
  isGone: z.exactOptional(z.literal(true)),
});

/**
 * Begin the keys of records that are no pauses. Ids of destinations have no colon. Former releases wrote `ended`, and
 * take a mark that they do not know for the pause of a destination that does not exist.
 */
const marks = ['resumed', 'recalled', 'uid', 'ended'] as const;
type Mark = (typeof marks)[number];

/** The fields of a pause without its destination, which is in the record's key. */
type Said = Omit<Pause, 'uid'>;

/** Says since when a destination is resumed while events that were kept for it may be left; undefined: none is. */
export function resumedRecord(
  topic: string,
  { id, uid }: Identity,
  resumed: Said | undefined,
): OutgoingRecord {
  return recordOf(topic, `resumed:${id}`, resumed && { ...resumed, uid });
}

/**
 * Says once more which destination has the id: if the `config` topic is lost, what waits and is kept still belongs to it.
 * Undefined: none has.
 */
export function uidRecord(topic: string, id: string, uid: string | undefined): OutgoingRecord {
  return recordOf(topic, `uid:${id}`, uid === undefined ? undefined : { uid });
}

/** Removes what a former release wrote when a destination of the id was deleted. */
export function endedTombstone(topic: string, id: string): OutgoingRecord {
  return recordOf(topic, `ended:${id}`, undefined);
}

/** Undefined ends the pause. */
export function pauseRecord(
  topic: string,
  { id, uid }: Identity,
  pause: Said | undefined,
): OutgoingRecord {
  return recordOf(topic, id, pause && { ...pause, uid });
}

function recordOf(topic: string, key: string, said: object | undefined): OutgoingRecord {
  return { topic, key, value: said === undefined ? null : JSON.stringify(said) };
}

/** The subject of a record of `pauses`. */
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

/**
 * Undefined: the destination is not paused. An unreadable record pauses it too, because kept events can be
 * sent later, and sent ones cannot be taken back.
 */
export function decodePause(value: Buffer | null): Pause | undefined {
  if (value === null) return undefined;
  try {
    return schema.parse(JSON.parse(value.toString()));
  } catch {
    const uid = decodeUid(value);
    return { since: new Date(0).toISOString(), ...(uid === undefined ? {} : { uid }) };
  }
}

/** The value of a `uid` record. */
export function decodeUid(value: Buffer | null): string | undefined {
  try {
    const { uid } = JSON.parse(value?.toString() ?? '{}') as WithUid;
    return isUid(uid) ? uid : undefined;
  } catch {
    return undefined;
  }
}
