import { readLevel } from '../event/formats.ts';
import { startConsumeLoop } from '../kafka/consume/consume-loop.ts';
import type { ConsumeLoop, ConsumeObserver } from '../kafka/consume/consume-loop.ts';
import type { ClusterClient } from '../kafka/cluster/cluster.ts';
import { Redeliveries } from '../kafka/consume/redeliveries.ts';
import { PartitionMap } from '../kafka/partition-map.ts';
import type { TopicPartition } from '../kafka/record.ts';
import type { WindowLimits } from '../kafka/consume/window.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { DeliveryEngine } from './engine.ts';
import { newClaim, type Claim } from './job.ts';

/**
 * More than one fetch brings for several partitions. With a larger window, waiting records survive garbage
 * collections more often, and a delivery costs more.
 */
export const freshWindow: WindowLimits = { records: 1_024, bytes: 4 * 1024 * 1024 };
/** Compressed bytes. What a fetch brings beyond the window stays in memory until there is room for it. */
const maxBytesPerPartition = 256 * 1024;
/**
 * Retry records are held until they are due, in several times as many partitions. With a larger window, many
 * records that come due at once would delay fresh ones.
 */
export const retryWindow: WindowLimits = { records: 256, bytes: 512 * 1024 };

export interface ReaderOptions {
  readonly kafka: ClusterClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly engine: Pick<DeliveryEngine, 'take' | 'revoke' | 'lose' | 'sharesChanged'>;
  readonly groupId: string;
  readonly topics: readonly string[];
  /** The topics of retries among them. */
  isRetryTopic(topic: string): boolean;
  /** The topic that decides which partition index is a destination's home; see `WorkShares`. */
  readonly homeTopic: string;
  /** The one destination of a dedicated topic; undefined for topics that all destinations share. */
  readonly dedicatedTo: string | undefined;
  readonly observer: ConsumeObserver;
  /** False while there is no room for events that are put off. */
  mayTakeMore(): boolean;
  /** Counts records that this process had already finished. */
  redelivered(records: number): void;
}

/** Reads topics for the engine, and reports which partitions this worker gets and loses. */
export function startReader(options: ReaderOptions): ConsumeLoop {
  const { engine, homeTopic, dedicatedTo } = options;
  const redeliveries = new Redeliveries();
  const claims = new PartitionMap<Claim>();
  const claimOf = ({ topic, partition }: TopicPartition): Claim => {
    let claim = claims.get(topic, partition);
    if (claim === undefined) {
      const place = { topic, partition };
      claim = newClaim(place, dedicatedTo !== undefined, () => loop.fullness(place));
      claims.set(claim, claim);
    }
    return claim;
  };
  let count: number | undefined;
  const tellShare = (): void => {
    const owned = loop.assigned().filter(({ topic }) => topic === homeTopic);
    const indexes = new Set(owned.map(({ partition }) => partition));
    engine.sharesChanged({ indexes, count }, dedicatedTo);
  };
  const loop = startConsumeLoop(options.kafka, {
    groupId: options.groupId,
    topics: options.topics,
    readLevel,
    windowRecords: freshWindow.records,
    windowBytes: freshWindow.bytes,
    maxBytesPerPartition,
    windowOf: (topic) => (options.isRetryTopic(topic) ? retryWindow : undefined),
    mayComeLate: (topic) => options.isRetryTopic(topic),
    mayTakeMore: () => options.mayTakeMore(),
    clock: options.clock,
    log: options.log,
    onRecords: (records) => {
      const again = redeliveries.count(records);
      if (again > 0) options.redelivered(again);
      const first = records[0];
      if (first !== undefined) engine.take(claimOf(first), records);
    },
    onAssigned: tellShare,
    onPartitionCount: (topic, partitions) => {
      if (topic !== homeTopic) return;
      count = partitions;
      tellShare();
    },
    onRevoked: (partitions) => {
      engine.revoke(partitions.map(claimOf));
    },
    onLost: (partitions) => {
      const lost = partitions.map(claimOf);
      for (const claim of lost) claims.delete(claim);
      engine.lose(lost);
      tellShare();
    },
    observer: options.observer,
  });
  return loop;
}
