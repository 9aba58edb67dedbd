import { setTimeout as delay } from 'node:timers/promises';
import { FetchedBatch, type BatchPart, type Positions } from './fetched-batch.ts';
import { FetchedBatches } from './fetched-batches.ts';
import { RestingPartitions } from './patient-topics.ts';

interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

interface PartitionMetadata {
  readonly partitionId: number;
  /** Node id; absent while there is none. */
  readonly leader?: number | null;
}

/** Some are strings, some kafkajs's big integers. */
interface Offset {
  toString(): string;
}

type Offsets = Readonly<Record<string, Readonly<Record<number, Offset | undefined>>>>;

/** The part of kafkajs's ConsumerGroup that its fetch needs. */
export interface ConsumerGroup extends Positions {
  readonly cluster: {
    readonly brokerPool: { readonly metadata: object | null };
    refreshMetadataIfNecessary(): Promise<void>;
    findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
    findBroker(node: { readonly nodeId: string }): Promise<Broker>;
  };
  readonly subscriptionState: {
    readonly assignedPartitionsByTopic: Readonly<Record<string, TopicPartitions>>;
    isPaused(topic: string, partition: number): boolean;
  };
  readonly offsetManager: {
    committedOffsets(): Offsets;
    nextOffset(topic: string, partition: number): Offset;
    resolveOffsets(): Promise<void>;
  };
  readonly seekOffset: { readonly size: number };
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxBytesPerPartition: number;
  readonly isolationLevel: number;
  seekOffsets(partitions: readonly TopicPartitions[]): Promise<void>;
  checkForStaleAssignment(): void;
  recoverFromFetch(error: unknown): Promise<void>;
  /** Of the last heartbeat. */
  lastRequest: number;
  heartbeat(every: { readonly interval: number }): Promise<void>;
  fetch(nodeId: string): Promise<FetchedBatches[]>;
}

/** A position to fetch from. */
interface Asked {
  readonly partition: number;
  readonly fetchOffset: string;
  readonly maxBytes: number;
}

interface AskedTopic {
  readonly topic: string;
  readonly partitions: readonly Asked[];
}

interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly BatchPart[];
  }[];
}

interface Broker {
  fetch(request: {
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly isolationLevel: number;
    readonly topics: readonly AskedTopic[];
  }): Promise<FetchResponse>;
}

/**
 * kafkajs's ConsumerGroup with a fetch of its own. The original sorts, copies and looks up all partitions
 * several times for each fetch, which with a few dozen of them costs more than the records that it
 * brings; what depends on the assignment and on the cluster alone is done once for each of them here. It
 * reads from leaders only: we name no rack, so no broker ever sends us to a follower.
 */
export function fetchingCheaply(
  Original: new (...parameters: never[]) => ConsumerGroup,
): new (...parameters: never[]) => ConsumerGroup {
  return class extends Original {
    #checked: object | null | undefined;
    #byNode = new PartitionsByNode();
    #resting = new RestingPartitions();

    /**
     * A clock that was set back would let none go until it has caught up: the group would give this
     * member's partitions away, and the member, which hears of that by heartbeats alone, read on.
     */
    override heartbeat(every: { readonly interval: number }): Promise<void> {
      this.lastRequest = Math.min(this.lastRequest, Date.now());
      return super.heartbeat(every);
    }

    override async fetch(nodeId: string): Promise<FetchedBatches[]> {
      try {
        const batches = await this.#fetch(nodeId);
        return batches.length === 0 ? [] : [new FetchedBatches(Number(nodeId), batches)];
      } catch (error) {
        await this.recoverFromFetch(error);
        return [];
      }
    }

    async #fetch(nodeId: string): Promise<FetchedBatch[]> {
      await this.cluster.refreshMetadataIfNecessary();
      this.#checkAssignment();
      const partitions = this.#byNode.of(this, nodeId);
      if (this.seekOffset.size > 0) await this.seekOffsets(partitions);
      else if (this.#isAnyPositionUnknown()) await this.offsetManager.resolveOffsets();
      const topics = this.#asked(partitions);
      if (topics.length === 0) {
        await delay(this.maxWaitTime);
        return [];
      }
      const broker = await this.cluster.findBroker({ nodeId });
      const { maxWaitTime, minBytes, maxBytes, isolationLevel } = this;
      const request = { maxWaitTime, minBytes, maxBytes, isolationLevel, topics };
      return this.#batchesOf(await broker.fetch(request), topics);
    }

    /** Whether there are partitions that nobody has been assigned shows in new metadata only. */
    #checkAssignment(): void {
      const { metadata } = this.cluster.brokerPool;
      if (metadata === this.#checked) return;
      this.checkForStaleAssignment();
      this.#checked = metadata;
    }

    #isAnyPositionUnknown(): boolean {
      const committed = this.offsetManager.committedOffsets();
      const { assignedPartitionsByTopic } = this.subscriptionState;
      for (const topic in assignedPartitionsByTopic) {
        for (const partition of assignedPartitionsByTopic[topic]?.partitions ?? []) {
          const offset = committed[topic]?.[partition];
          if (offset === undefined || Number(offset.toString()) < 0) return true;
        }
      }
      return false;
    }

    #asked(byTopic: readonly TopicPartitions[]): AskedTopic[] {
      const { subscriptionState, maxBytesPerPartition: maxBytes } = this;
      const nowMs = performance.now();
      const asked: AskedTopic[] = [];
      for (const { topic, partitions } of byTopic) {
        const ofTopic: Asked[] = [];
        for (const partition of partitions) {
          if (subscriptionState.isPaused(topic, partition)) continue;
          const fetchOffset = this.#position(topic, partition);
          if (fetchOffset === undefined || !this.#resting.mayAsk(topic, partition, nowMs)) continue;
          ofTopic.push({ partition, fetchOffset, maxBytes });
        }
        if (ofTopic.length > 0) asked.push({ topic, partitions: ofTopic });
      }
      return asked;
    }

    /** Undefined while another fetch, which found it out of range, is looking for it. */
    #position(topic: string, partition: number): string | undefined {
      const { offsetManager } = this;
      if (offsetManager.committedOffsets()[topic]?.[partition] === undefined) return undefined;
      return offsetManager.nextOffset(topic, partition).toString();
    }

    #batchesOf({ responses }: FetchResponse, topics: readonly AskedTopic[]): FetchedBatch[] {
      const batches: FetchedBatch[] = [];
      for (const { topicName, partitions } of responses) {
        const asked = topics.find(({ topic }) => topic === topicName)?.partitions;
        for (const part of partitions) {
          const { partition } = part;
          if (part.lastOffset !== undefined) this.#resting.brought(topicName, partition);
          else if (part.problem !== undefined) this.#resting.stuck(topicName, partition);
          else continue;
          // What was sought or paused meanwhile is not wanted any more.
          if (this.hasSeekOffset({ topic: topicName, partition })) continue;
          if (this.subscriptionState.isPaused(topicName, partition)) continue;
          const at = asked?.find((each) => each.partition === partition)?.fetchOffset;
          if (at !== undefined) batches.push(new FetchedBatch(topicName, Number(at), part, this));
        }
      }
      return batches;
    }
  };
}

/** This member's partitions by the broker that leads them, until either changes. */
class PartitionsByNode {
  #metadata: object | null = null;
  #assigned: object | undefined;
  #byNode = new Map<string, TopicPartitions[]>();

  of({ cluster, subscriptionState }: ConsumerGroup, nodeId: string): readonly TopicPartitions[] {
    const { metadata } = cluster.brokerPool;
    const { assignedPartitionsByTopic: assigned } = subscriptionState;
    if (metadata !== this.#metadata || assigned !== this.#assigned) {
      this.#metadata = metadata;
      this.#assigned = assigned;
      this.#byNode = new Map();
    }
    let partitions = this.#byNode.get(nodeId);
    if (partitions === undefined) {
      partitions = Object.values(assigned).map((each) => ledBy(nodeId, each, cluster));
      this.#byNode.set(nodeId, partitions);
    }
    return partitions;
  }
}

function ledBy(
  nodeId: string,
  { topic, partitions }: TopicPartitions,
  cluster: ConsumerGroup['cluster'],
): TopicPartitions {
  const led = new Set<number>();
  for (const { partitionId, leader } of cluster.findTopicPartitionMetadata(topic))
    if (String(leader) === nodeId) led.add(partitionId);
  return { topic, partitions: partitions.filter((partition) => led.has(partition)) };
}
