import { userOffset, type Envelope } from '../../event/envelope.ts';
import { followerFreshMs } from '../../kafka/follow/follower.ts';
import type { DeletedUsers } from './deleted-users.ts';

/** Which id was deleted: the event's user, or the other one of an alias. */
export const fencingIds = ['user', 'previous-id'] as const;
export type FencedBy = (typeof fencingIds)[number];

/**
 * Time after a deletion was written, until no older event of its user is in flight anymore. Until the first
 * part of it is over, a worker may not have read the deletion; the second part is for an attempt that it
 * starts at that moment.
 * @param timeoutMs of one whole attempt
 */
export function fenceMs(timeoutMs: number): number {
  return followerFreshMs + timeoutMs;
}

/** The deleted users, against whose deletions older events are checked. */
export interface Fence {
  /** Why the event must not be sent anymore; undefined: it may be sent. */
  covers(envelope: Envelope, key: Buffer | null): FencedBy | undefined;
  /** True while every deletion that was written up to 2 s ago has been read here. */
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
