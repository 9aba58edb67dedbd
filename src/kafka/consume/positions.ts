import { earliestTime, type Cluster } from '../cluster/cluster.ts';
import { listOffsets } from '../cluster/list-offsets.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import { decodeCommitMetadata } from './commit-metadata.ts';
import type { CommittedOffset, Coordinator } from './coordinator.ts';
import { Account, type OwnedPartition } from './owned-partition.ts';

/** Where reading of a partition continues. */
export interface Position {
  readonly partition: OwnedPartition;
  readonly account: Account;
  /** Leader epoch of the last record that was read; -1: unknown. */
  readonly epoch: number;
}

/** What this process knows about its commits of a partition. */
export interface OwnCommits {
  /** Acknowledged, or found at the last look-up; undefined: none. */
  readonly committed: number | undefined;
  /** The last offset that was sent. It may have arrived although its answer did not. */
  readonly attempted: number | undefined;
}

/**
 * Whether an account stays valid after the group continued without this member: only if the committed offset
 * was not moved meanwhile. `onBroker`: -1 where nothing is committed.
 */
export function mayKeep({ committed, attempted }: OwnCommits, onBroker: number): boolean {
  if (onBroker < 0) return committed === undefined;
  const lowest = committed ?? attempted;
  const highest = attempted ?? committed;
  if (lowest === undefined || highest === undefined) return false;
  return Math.min(lowest, highest) <= onBroker && onBroker <= Math.max(lowest, highest);
}

/**
 * Reads the committed offsets and decides where each partition continues: with its account, at the committed
 * offset, or at the earliest. A partition whose committed offset Kafka refuses, or whose earliest one is not available,
 * because it has no leader, is left out. Changes nothing; throws if no offset can be read.
 */
export async function lookUpPositions(
  cluster: Cluster,
  coordinator: Pick<Coordinator, 'committed'>,
  partitions: readonly OwnedPartition[],
): Promise<Position[]> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  await cluster.refresh(topics);
  const byPartition = new Map<OwnedPartition, CommittedOffset>();
  for (const committed of await coordinator.committed(partitions)) {
    const partition = partitions.find(
      (each) => each.topic === committed.topic && each.partition === committed.partition,
    );
    if (partition !== undefined) byPartition.set(partition, committed);
  }
  const refusalOf = (partition: OwnedPartition): KafkaErrorName =>
    byPartition.get(partition)?.error ?? 'NONE';
  const known = partitions.filter((each) => refusalOf(each) === 'NONE');
  const [first] = partitions;
  if (first !== undefined && known.length === 0)
    throw new KafkaAnswerError(refusalOf(first), `the committed offset of ${first.topic}`);
  const none = { offset: -1, metadata: null };
  // The committed offset of a topic that was deleted and created again may belong to the former topic.
  const committedOf = (partition: OwnedPartition): Pick<CommittedOffset, 'offset' | 'metadata'> =>
    (partition.isRemade ? undefined : byPartition.get(partition)) ?? none;
  const unset = known.filter((each) => committedOf(each).offset < 0);
  const starts = new Map<OwnedPartition, number>();
  const asked = unset.map(async (partition) => {
    starts.set(partition, await startOf(cluster, partition));
  });
  const failure = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected' && starts.size === 0 && unset.length === known.length)
    throw failure.reason;
  return known.flatMap((partition) => {
    const { offset, metadata } = committedOf(partition);
    const { account: former, cursor } = partition;
    if (former !== undefined && mayKeep(former, offset))
      return [{ partition, account: former, epoch: cursor?.lastEpoch ?? -1 }];
    if (offset < 0) {
      const start = starts.get(partition);
      return start === undefined
        ? []
        : [{ partition, account: new Account(start, undefined), epoch: -1 }];
    }
    const told = decodeCommitMetadata(offset, metadata);
    return [{ partition, account: new Account(offset, offset, told), epoch: told.epoch }];
  });
}

async function startOf(cluster: Cluster, { topic, partition }: OwnedPartition): Promise<number> {
  const offsets = await listOffsets(cluster, topic, earliestTime, [partition]);
  const start = offsets.get(partition);
  if (start === undefined) throw new Error(`the answer lacks partition ${partition} of ${topic}`);
  return start;
}
