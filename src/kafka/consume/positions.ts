import { mayKeepTracker, noCommit } from './acceptance.ts';
import type { BrokerOffsets, OffsetRange } from './broker-offsets.ts';
import { Account, type OwnedPartition } from './owned-partition.ts';

/** What became of a partition's account when its position was looked up. */
export interface Positioned {
  readonly partition: OwnedPartition;
  readonly account: Account;
  /** Somebody else moved the committed offset, so records in flight are read again. */
  readonly overruled: boolean;
}

/**
 * Reads the committed offsets and decides where each partition goes on: at its tracker's next
 * offset, at the committed one, or at the earliest. Changes nothing; throws when Kafka is away, or does
 * not answer for all of them.
 */
export async function lookUpPositions(
  offsets: Pick<BrokerOffsets, 'committed' | 'ranges'>,
  groupId: string,
  partitions: readonly OwnedPartition[],
): Promise<Positioned[]> {
  const committed = await offsets.committed(groupId, partitions);
  const open: { partition: OwnedPartition; onBroker: number }[] = [];
  const kept: Positioned[] = [];
  for (const partition of partitions) {
    const onBroker = committed.get(partition.topic)?.get(partition.partition) ?? noCommit;
    const { account } = partition;
    if (account !== undefined && mayKeepTracker(account, onBroker)) {
      kept.push({ partition, account, overruled: false });
    } else {
      open.push({ partition, onBroker });
    }
  }
  const unset = open.filter(({ onBroker }) => onBroker < 0);
  const ranges = new Map(
    await Promise.all(
      [...new Set(unset.map(({ partition }) => partition.topic))].map(
        async (topic) => [topic, await offsets.ranges(topic)] as const,
      ),
    ),
  );
  return kept.concat(
    open.map(({ partition, onBroker }) => {
      const range = ranges.get(partition.topic)?.get(partition.partition);
      return {
        partition,
        account: onBroker < 0 ? beginning(partition, range) : new Account(onBroker, onBroker),
        // After a reset the records in flight will not come again: they are not overruled.
        overruled: partition.account !== undefined && onBroker >= 0,
      };
    }),
  );
}

function beginning({ topic, partition }: OwnedPartition, range: OffsetRange | undefined): Account {
  if (range === undefined)
    throw new Error(`Kafka does not tell the offsets of partition ${partition} of ${topic}`);
  return new Account(range.earliest, undefined);
}
