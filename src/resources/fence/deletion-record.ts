import type { OutgoingRecord } from '../../kafka/record.ts';

/** A record of the topic `deletions`: that a user was deleted at a source. Its append time is the deletion's. */
export function deletionRecord(
  topic: string,
  deletion: {
    readonly sourceId: string;
    readonly userId: string;
    /** Time of the request, for people: ISO 8601. */
    readonly time: string;
  },
): OutgoingRecord {
  const { sourceId, userId, time } = deletion;
  return { topic, key: `${sourceId}:${userId}`, value: JSON.stringify({ time }) };
}
