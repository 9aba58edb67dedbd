import { followTable } from '../../kafka/follow/table.ts';
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
