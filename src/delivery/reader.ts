import { startConsumeLoop } from '../kafka/consume/consume-loop.ts';
import type { ConsumeLoop, ConsumeObserver } from '../kafka/consume/consume-loop.ts';
import type { ClusterClient } from '../kafka/cluster/cluster.ts';
import { IntakeBudget, type WindowLimits } from '../kafka/consume/window.ts';
import { PartitionMap, type TopicPartition } from '../kafka/record.ts';
import type { TakenPartition } from '../kafka/consume/taken-record.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { DeliveryEngine } from './engine.ts';
import { newClaim, type Claim } from './job.ts';

/**
 * More than one fetch brings for several partitions. With a larger window, waiting records survive garbage
 * collections more often, and a delivery costs more.
 */
export const freshWindow: WindowLimits = { records: 1_024, bytes: 4 * 1024 * 1024 };
/**
 * The most that a worker has in flight of all partitions together. A record in flight takes one or two kilobytes of the heap beside
 * its bytes, which are outside. Windows of the shared topics, with twelve partition numbers and six tiers, have
 * 30,720 records: nearly all of that fits into half of the budget.
 */
const workerBudget: WindowLimits = { records: 49_152, bytes: 128 * 1024 * 1024 };
/**
 * The most that is set aside in a partition of a dedicated topic: a commit lists 3,000 offsets that are not finished
 * before one that is, and the window has 1,024.
 */
export const mostAside = 1_900;
/** Nothing more is while so much of all partitions is. */
const asideBudget: WindowLimits = { records: 24_576, bytes: 64 * 1024 * 1024 };
/** The same for what is unpacked of bundles. */
const unpackedBudget: WindowLimits = { records: 16_384, bytes: 32 * 1024 * 1024 };
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
  /** Shared by all readers of the process. */
  readonly budgets: Budgets;
  readonly observer: ConsumeObserver;
  /** False while there is no room for events that are put off. */
  mayTakeMore(): boolean;
}

export interface Budgets {
  readonly inFlight: IntakeBudget;
  readonly unpacked: IntakeBudget;
}

export function workerBudgets(inFlight: WindowLimits = workerBudget): Budgets {
  return { inFlight: new IntakeBudget(inFlight), unpacked: new IntakeBudget(unpackedBudget) };
}

function asideRoom(aside: number, { records, bytes }: WindowLimits): number {
  if (bytes >= asideBudget.bytes) return 0;
  return Math.min(mostAside - aside, asideBudget.records - records);
}

/** Reads topics for the engine, and reports which partitions this worker gets and loses. */
export function startReader(options: ReaderOptions): ConsumeLoop {
  const { engine, homeTopic, dedicatedTo, budgets } = options;
  const claims = new PartitionMap<Claim>();
  const claimOf = (from: TakenPartition): Claim => {
    let claim = claims.get(from.topic, from.partition);
    if (claim === undefined) {
      claim = newClaim(
        from,
        dedicatedTo !== undefined,
        from,
        () => budgets.unpacked.share,
        () => asideRoom(from.aside, budgets.inFlight.aside),
      );
      claims.set(claim, claim);
      budgets.unpacked.join(claim.unpackedBytes);
    }
    return claim;
  };
  /** The claims on partitions of which something was taken. */
  const claimsOn = (partitions: readonly TopicPartition[]): Claim[] =>
    partitions.flatMap(({ topic, partition }) => claims.get(topic, partition) ?? []);
  let count: number | undefined;
  const tellShare = (): void => {
    const owned = loop.assigned().filter(({ topic }) => topic === homeTopic);
    const indexes = new Set(owned.map(({ partition }) => partition));
    engine.sharesChanged({ indexes, count }, dedicatedTo);
  };
  const loop = startConsumeLoop(options.kafka, {
    groupId: options.groupId,
    topics: options.topics,
    windowRecords: freshWindow.records,
    windowBytes: freshWindow.bytes,
    maxBytesPerPartition,
    windowOf: (topic) => (options.isRetryTopic(topic) ? retryWindow : undefined),
    budget: budgets.inFlight,
    mayComeLate: (topic) => options.isRetryTopic(topic),
    mayTakeMore: () => options.mayTakeMore(),
    clock: options.clock,
    log: options.log,
    onRecords: (records, from) => {
      engine.take(claimOf(from), records);
    },
    onAssigned: tellShare,
    onPartitionCount: (topic, partitions) => {
      if (topic !== homeTopic) return;
      count = partitions;
      tellShare();
    },
    onRevoked: (partitions) => {
      engine.revoke(claimsOn(partitions));
    },
    onLost: (partitions) => {
      const lost = claimsOn(partitions);
      for (const claim of lost) {
        claims.delete(claim);
        budgets.unpacked.leave(claim.unpackedBytes);
      }
      engine.lose(lost);
      tellShare();
    },
    observer: options.observer,
  });
  return loop;
}
