import { buildDeleteBody } from '../event/body.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import { dueAfter, dueTimeJitter } from '../event/tier-delay.ts';
import type { OutgoingRecord } from '../kafka/record.ts';

/** How notifications leave: through which retry tier, and when. */
export interface Departure {
  readonly tierMs: number;
  readonly dueMs: number;
}

/**
 * Late enough for every worker to know of the deletion, and for what it had sent before to have ended: so
 * the receiver gets nothing older after the notification. By the shortest tier that takes longer than
 * this even at its earliest; where none does, by the longest, after exactly so long.
 * @param tiersMs ascending, at least one
 * @param fenceMs see `fenceMs`
 */
export function planDeparture(
  tiersMs: readonly number[],
  fenceMs: number,
  nowMs: number,
  random: () => number,
): Departure {
  const tierMs = departureTierMs(tiersMs, fenceMs);
  const isLongEnough = isLonger(tierMs, fenceMs);
  return { tierMs, dueMs: isLongEnough ? dueAfter(tierMs, nowMs, random) : nowMs + fenceMs };
}

/** The tier alone. */
export function departureTierMs(tiersMs: readonly number[], fenceMs: number): number {
  return tiersMs.find((tierMs) => isLonger(tierMs, fenceMs)) ?? tiersMs.at(-1) ?? 0;
}

function isLonger(tierMs: number, fenceMs: number): boolean {
  return tierMs * (1 - dueTimeJitter) > fenceMs;
}

export interface Notification {
  readonly destinationId: string;
  /** See `partitionKeyOf`. */
  readonly partitionKey?: string | undefined;
  readonly sourceId: string;
  readonly userId: string;
  readonly messageId: string;
  /** Of the request: ISO 8601, UTC, milliseconds, `Z`. */
  readonly time: string;
  /** How far the configuration was known: no worker may know less. */
  readonly configOffset: number;
  readonly dueMs: number;
}

/** An event like any other for the delivery workers, where the user's other events are. */
export function notificationRecord(topic: string, notification: Notification): OutgoingRecord {
  const { destinationId, sourceId, userId, messageId, time, configOffset, dueMs } = notification;
  const envelope = encodeEnvelope({
    destinationId,
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
