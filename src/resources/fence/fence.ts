import { userOffset, type Envelope } from '../../event/envelope.ts';
import type { DeletedUsers } from './deleted-users.ts';

/** Which id was deleted: the event's user, or the other one of an alias. */
export const fencingIds = ['user', 'previous-id'] as const;
export type FencedBy = (typeof fencingIds)[number];

/** The two settings that say when a deletion takes effect. All workers and `delete-user` have the same. */
export interface DeletionTimes {
  /** How old a deletion may be that a worker does not know of, and sends nevertheless. */
  readonly deletionDelayMs: number;
  /** The limit of one whole attempt, which a worker may start when the delay ends. */
  readonly deliveryTimeoutMs: number;
}

/** Time after a deletion was written, until no older event of its user is in flight anymore. */
export function fenceMs({ deletionDelayMs, deliveryTimeoutMs }: DeletionTimes): number {
  return deletionDelayMs + deliveryTimeoutMs;
}

/** The deleted users, against whose deletions older events are checked. */
export interface Fence {
  /** Why the event must not be sent anymore; undefined: it may be sent. */
  covers(envelope: Envelope, key: Buffer | null): FencedBy | undefined;
  /** True while every deletion that is older than `DELETION_DELAY` has been read here. */
  isFresh(): boolean;
  /** Known deletions: one for each source and deleted user. */
  readonly size: number;
}

/**
 * An event is fenced if its call was appended before its user was deleted at the call's own source.
 * Notifications of deletions are not, because their statement stays true.
 * @param key of the event's record, `<destinationId>:<user>`
 */
export function fencedBy(
  envelope: Envelope,
  key: Buffer | null,
  deleted: DeletedUsers,
): FencedBy | undefined {
  if (deleted.size === 0 || envelope.type === 'delete') return undefined;
  const { sourceId, destinationId, appendTimeMs, previousId } = envelope;
  if (key !== null && appendTimeMs < deleted.timeMs(sourceId, key, userOffset(destinationId)))
    return 'user';
  if (previousId === undefined) return undefined;
  const isOlder = appendTimeMs < deleted.timeMs(sourceId, Buffer.from(previousId), 0);
  return isOlder ? 'previous-id' : undefined;
}
