import { userOffset, type Envelope } from '../../event/envelope.ts';
import { followTable } from '../../kafka/follow/table.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { ConfigTopicAccess } from '../config/config-topic.ts';
import { DeletedUsers } from './deleted-users.ts';

/** The ids of an event that may be a deleted user's: its own user, or the other one of an alias. */
export const fencingIds = ['user', 'previous-id'] as const;
export type FencedBy = (typeof fencingIds)[number];

/** The two settings that say when a deletion takes effect. All workers and `delete-user` have the same. */
export interface DeletionTimes {
  /** The greatest age of a deletion that a worker does not know of, and sends nevertheless. */
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

interface FollowedFence extends Fence {
  stop(): Promise<void>;
}

/**
 * Ten fetches a second of mostly empty partitions would cost a worker more than all other work of the fence.
 */
const maxWaitMs = 500;

/**
 * Loads all deletions and follows the topic `deletions` from there on.
 * @param deletionDelayMs see `DeletionTimes`; undefined: nobody asks whether the fence is fresh
 */
export async function startFence(
  { kafka, topology, log }: ConfigTopicAccess,
  deletionDelayMs?: number,
): Promise<FollowedFence> {
  const table = followTable(
    kafka,
    {
      topic: topology.topics.deletions,
      maxWaitMs,
      freshMs: deletionDelayMs,
      needsWitnesses: true,
      log,
    },
    {
      create: () => new DeletedUsers(topology.deletionRetentionMs),
      apply: (deleted, { key, value, timestampMs }) => {
        if (key === null) return;
        if (value === null) deleted.remove(key);
        else deleted.add(key, timestampMs);
      },
    },
  );
  await table.loaded;
  return {
    covers: (envelope, key) => fencedBy(envelope, key, table.current),
    isFresh: () => table.isFresh(),
    get size() {
      return table.current.size;
    },
    stop: () => table.stop(),
  };
}

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
