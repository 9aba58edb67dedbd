import { z } from 'zod';
import type { OutgoingRecord } from '../../kafka/record.ts';

/**
 * Why nothing is sent to a destination for now: a record of the topic `pauses`, whose key is the
 * destination's id.
 */
export interface Pause {
  /** ISO 8601, UTC. */
  readonly since: string;
  /** Set if `disableAfter` paused the destination: since when it had failed. Absent if an operator did. */
  readonly failingSince?: string;
}

const schema = z.object({
  since: z.iso.datetime(),
  failingSince: z.exactOptional(z.iso.datetime()),
});

/** Begins the keys of records that are no pauses. Ids of destinations have no colon. */
const resumedPrefix = 'resumed:';
const endedPrefix = 'ended:';

/**
 * Says since when a destination is resumed while events that were kept for it may be left; undefined: none is.
 * A release that does not know this record takes it for the pause of a destination that does not exist.
 */
export function resumedRecord(
  topic: string,
  destinationId: string,
  since: string | undefined,
): OutgoingRecord {
  const value = since === undefined ? null : JSON.stringify({ since });
  return { topic, key: `${resumedPrefix}${destinationId}`, value };
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
  const value = since === undefined ? null : JSON.stringify({ since });
  return { topic, key: `${endedPrefix}${destinationId}`, value };
}

/** What a record of `pauses` is about. */
export interface PauseKey {
  readonly says: 'paused' | 'resumed' | 'ended';
  readonly destinationId: string;
}

export function readPauseKey(key: string): PauseKey {
  if (key.startsWith(resumedPrefix))
    return { says: 'resumed', destinationId: key.slice(resumedPrefix.length) };
  if (key.startsWith(endedPrefix))
    return { says: 'ended', destinationId: key.slice(endedPrefix.length) };
  return { says: 'paused', destinationId: key };
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
