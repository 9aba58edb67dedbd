import { loadFollower } from '../../kafka/follow/follower.ts';
import type { ConfigTopicAccess } from '../config/config-topic.ts';
import { DeletedUsers } from './deleted-users.ts';
import { fencedBy, type Fence } from './fence.ts';

export interface FollowedFence extends Fence {
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
  const deleted = new DeletedUsers(topology.deletionRetentionMs);
  const follower = await loadFollower(kafka, {
    topic: topology.topics.deletions,
    maxWaitMs,
    freshMs: deletionDelayMs,
    needsWitnesses: true,
    onRecord: ({ key, value, timestampMs }) => {
      if (key === null) return;
      if (value === null) deleted.remove(key);
      else deleted.add(key, timestampMs);
    },
    onRestart: () => {
      deleted.clear();
    },
    log,
  });
  return {
    covers: (envelope, key) => fencedBy(envelope, key, deleted),
    isFresh: () => follower.isFresh(),
    get size() {
      return deleted.size;
    },
    stop: () => follower.stop(),
  };
}
