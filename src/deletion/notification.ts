import { buildDeleteBody } from '../event/body.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { WithUid } from '../event/uid.ts';
import type { OutgoingRecord } from '../kafka/record.ts';

/**
 * The way of notifications: the retry tier that they are sent through, and the time when they are
 * due.
 */
export interface Departure {
  readonly tierMs: number;
  readonly dueMs: number;
}

/**
 * Late enough for every worker to have read the deletion, and for its earlier requests to have ended, so that
 * the receiver gets nothing older after the notification.
 * @param tiersMs ascending, at least one
 * @param fenceMs see `fenceMs`
 */
export function planDeparture(
  tiersMs: readonly number[],
  fenceMs: number,
  nowMs: number,
): Departure {
  return { tierMs: departureTierMs(tiersMs, fenceMs), dueMs: nowMs + fenceMs };
}

/**
 * The shortest tier that takes as long, or else the longest: in a shorter one, notifications would take the room of
 * events that are due before.
 */
export function departureTierMs(tiersMs: readonly number[], fenceMs: number): number {
  return tiersMs.find((tierMs) => tierMs >= fenceMs) ?? tiersMs.at(-1) ?? 0;
}

export interface Notification extends WithUid {
  readonly destinationId: string;
  /** See `partitionKeyOf`. */
  readonly partitionKey?: string | undefined;
  readonly sourceId: string;
  readonly userId: string;
  readonly messageId: string;
  /** The time of the request: ISO 8601, UTC, milliseconds, `Z`. */
  readonly time: string;
  /** Config offset by which this was decided. No worker may decide with less. */
  readonly configOffset: number;
  readonly dueMs: number;
}

/** An event like any other for delivery workers, in the partition of the user's other events. */
export function notificationRecord(topic: string, notification: Notification): OutgoingRecord {
  const { destinationId, uid, sourceId, userId, messageId, time, configOffset, dueMs } =
    notification;
  const envelope = encodeEnvelope({
    destinationId,
    uid,
    sourceId,
    messageId,
    configOffset,
    dueMs,
    type: 'delete',
    appendTimeMs: Date.parse(time),
    attempts: 0,
  });
  return {
    topic,
    partitionKey: notification.partitionKey,
    key: deliveryKey(destinationId, userId),
    value: buildDeleteBody(userId, time),
    headers: { [envelopeHeader]: envelope },
  };
}
