import { startConsumeLoop } from '../kafka/consume-loop.ts';
import type { ConsumeLoop } from '../kafka/consume-loop.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { TopicPartition } from '../kafka/record.ts';
import type { WindowLimits } from '../kafka/window.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { DeliveryEngine } from './engine.ts';
import type { Claim } from './job.ts';

/**
 * More than one fetch brings of events of usual size, because kafkajs throws away and fetches again what it
 * holds of a paused partition. Smaller fetches cost up to a tenth more CPU time a delivery, larger windows
 * more than 400 MB in all. 12 partitions hold 48 MB at most.
 */
const freshWindow: WindowLimits = { records: 2_048, bytes: 4 * 1024 * 1024 };
const maxBytesPerPartition = 768 * 1024;
/** Held until they are due, in six times as many partitions. */
const retryWindow: WindowLimits = { records: 1_024, bytes: 1024 * 1024 };

export interface ReaderOptions {
  readonly kafka: KafkaClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly engine: DeliveryEngine;
  readonly groupId: string;
  readonly topics: readonly string[];
  /** The topics of retries among them. */
  isRetryTopic(topic: string): boolean;
  /** Of one destination alone. */
  readonly dedicated: boolean;
  joined(partitions: number): void;
}

/** Reads topics for the engine, and tells it which partitions come and go. */
export async function startReader(options: ReaderOptions): Promise<ConsumeLoop> {
  const { engine, dedicated } = options;
  const claims = new Map<string, Claim>();
  const claimOf = ({ topic, partition }: TopicPartition): Claim => {
    const key = `${topic}:${partition}`;
    let claim = claims.get(key);
    if (claim === undefined) {
      claim = { topic, partition, dedicated, lost: false };
      claims.set(key, claim);
    }
    return claim;
  };
  return startConsumeLoop(options.kafka, {
    groupId: options.groupId,
    topics: options.topics,
    windowRecords: freshWindow.records,
    windowBytes: freshWindow.bytes,
    maxBytesPerPartition,
    windowOf: (topic) => (options.isRetryTopic(topic) ? retryWindow : undefined),
    clock: options.clock,
    log: options.log,
    onRecords: (records) => {
      const first = records[0];
      if (first !== undefined) engine.take(claimOf(first), records);
    },
    onLost: (partitions) => {
      const lost = partitions.map(claimOf);
      for (const { topic, partition } of lost) claims.delete(`${topic}:${partition}`);
      engine.lose(lost);
    },
    observer: {
      joined: (partitions) => {
        options.joined(partitions);
      },
    },
  });
}
