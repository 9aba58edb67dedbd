import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import type { Change, SyncTarget } from './sync-target.ts';

/** The key under which `audience-members` holds what was emitted of a user. */
export function membershipKey({ id }: SyncTarget, userId: string): string {
  return `${id}:${userId}`;
}

/** What is remembered of a change; a user who left is forgotten. */
export function membershipRecord(
  topic: string,
  partition: number,
  target: SyncTarget,
  { userId, value }: Change,
): PlacedRecord {
  return { topic, partition, key: membershipKey(target, userId), value };
}

/**
 * A record that says nothing. Behind the last one of earlier syncs it marks the end of what is to be read:
 * a topic's own end is no such mark, because kafkajs asks for that of committed records, and a transaction
 * of another audience in the same partition may hold it back.
 */
export function barrierRecord(topic: string, partition: number, { id }: SyncTarget): PlacedRecord {
  return { topic, partition, key: id, value: null };
}

/** The user of a record in `audience-members`; undefined for those of other audiences, and for barriers. */
export function userOfMembership(target: SyncTarget, key: Buffer | null): string | undefined {
  const prefix = `${target.id}:`;
  if (key === null || key.length <= prefix.length) return undefined;
  return key.toString('latin1', 0, prefix.length) === prefix
    ? key.toString('utf8', prefix.length)
    : undefined;
}
