import { earliestTime, listOffsets, type Cluster } from '../cluster/cluster.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import { decodeCommitMetadata, untold, type CommitMetadata } from './commit-metadata.ts';
import type { CommittedOffset, Coordinator } from './coordinator.ts';
import { Account, type OwnedPartition } from './owned-partition.ts';

/** The place where reading of a partition continues. */
export interface Position {
  readonly partition: OwnedPartition;
  readonly account: Account;
  /** Leader epoch of the last record that was read; -1: unknown. */
  readonly epoch: number;
  /** The id of the topic that the position is in; undefined: it is not there at this moment. */
  readonly topicId: string | undefined;
}

/** The knowledge of this process about its commits of a partition. */
export interface OwnCommits {
  /** Acknowledged, or found at the last look-up; undefined: none. */
  readonly committed: number | undefined;
  /** The last offset that was sent. It may have arrived although its answer did not. */
  readonly attempted: number | undefined;
}

/**
 * Tells whether an account stays valid after the group continued without this member: only if the committed offset
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
  const offsets = await coordinator.committed(partitions);
  // Either what is committed is of a former topic, or the broker that was asked knows the former one.
  if (offsets.some((each) => isOfOtherTopic(each, cluster))) await cluster.refreshInTurn(topics);
  for (const committed of offsets) {
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
  const placed = known.map((partition) => {
    const topicId = cluster.topic(partition.topic)?.id;
    return {
      partition,
      topicId,
      committed: committedIn(partition, byPartition.get(partition), topicId),
    };
  });
  const unset = placed.flatMap(({ partition, committed }) =>
    committed === undefined ? [partition] : [],
  );
  const starts = new Map<OwnedPartition, number>();
  const asked = unset.map(async (partition) => {
    starts.set(partition, await startOf(cluster, partition));
  });
  const failure = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected' && starts.size === 0 && unset.length === known.length)
    throw failure.reason;
  return placed.flatMap(({ partition, topicId, committed }) => {
    const { account: former, cursor } = partition;
    const isOfFormerTopic = differ(cursor?.topicId, topicId);
    if (former !== undefined && !isOfFormerTopic && mayKeep(former, committed?.offset ?? -1)) {
      const epoch = cursor?.lastEpoch ?? -1;
      return [{ partition, topicId: cursor?.topicId ?? topicId, account: former, epoch }];
    }
    const from = committed?.offset ?? starts.get(partition);
    if (from === undefined) return [];
    const told = committed?.told ?? untold;
    const ofTopic = told.topicId ?? topicId;
    const own = finishedHere(from, partition, ofTopic);
    const account = new Account(from, committed?.offset, told, ...own);
    return [{ partition, topicId: ofTopic, account, epoch: told.epoch }];
  });
}

function isOfOtherTopic({ topic, offset, metadata }: CommittedOffset, cluster: Cluster): boolean {
  return differ(decodeCommitMetadata(offset, metadata).topicId, cluster.topic(topic)?.id);
}

/**
 * Undefined where nothing is committed of the present topic. Kafka forgets what is committed of one that is deleted,
 * but takes what a member commits of it afterwards for the one that was made again.
 */
function committedIn(
  partition: OwnedPartition,
  { offset, metadata }: Pick<CommittedOffset, 'offset' | 'metadata'> = none,
  topicId: string | undefined,
): { readonly offset: number; readonly told: CommitMetadata } | undefined {
  if (offset < 0) return undefined;
  const told = decodeCommitMetadata(offset, metadata);
  const mayBeOfFormer =
    told.topicId === undefined ? partition.isRemade : differ(told.topicId, topicId);
  return mayBeOfFormer ? undefined : { offset, told };
}

/**
 * The offsets that this process has finished itself, beside those committed. Without them, an event of which retry topics hold
 * a chain of copies would become as many events each time that the group goes on without its member.
 */
function finishedHere(
  offset: number,
  { former }: OwnedPartition,
  topicId: string | undefined,
): Pick<CommitMetadata, 'epoch' | 'ahead'>[] {
  if (former === undefined || former.topicId !== topicId) return [];
  // Whoever sets a group back wants to have it all again.
  if (offset < firstOf(former.account)) return [];
  const { tracker, epoch } = former.account;
  return [{ epoch, ahead: tracker.finishedFrom(offset) }];
}

/** The group has gone on from here at the earliest, unless somebody has set it back. */
function firstOf({ committed, attempted }: OwnCommits): number {
  return Math.min(committed ?? attempted ?? 0, attempted ?? committed ?? 0);
}

/** True if both are known, and not the same. */
function differ(topicId: string | undefined, other: string | undefined): boolean {
  return topicId !== undefined && other !== undefined && topicId !== other;
}

const none = { offset: -1, metadata: null };

async function startOf(cluster: Cluster, { topic, partition }: OwnedPartition): Promise<number> {
  const offsets = await listOffsets(cluster, topic, earliestTime, [partition]);
  const start = offsets.get(partition);
  if (start === undefined) throw new Error(`the answer lacks partition ${partition} of ${topic}`);
  return start;
}
