import { KafkaAnswerError } from '../../../../src/kafka/protocol/errors.ts';
import type { SimulatedProcess } from '../virtual-time.ts';
import type { MemoryTopic } from '../../../harness/kafka/brokers.ts';
import type { SimulatedBrokers } from './brokers.ts';
import type { SimulatedPartition } from './partition.ts';

const questionMs = 5;
const giveUpMs = 5_000;

/** As much of kafkajs's admin as roles and commands ask: answered by whichever broker is up. */
export class SimulatedAdmin {
  readonly #brokers: SimulatedBrokers;
  readonly #owner: SimulatedProcess;

  constructor(brokers: SimulatedBrokers, owner: SimulatedProcess) {
    this.#brokers = brokers;
    this.#owner = owner;
  }

  async connect(): Promise<void> {
    await this.#answered();
  }

  async disconnect(): Promise<void> {
    // Nothing is left open.
  }

  async listTopics(): Promise<string[]> {
    await this.#answered();
    return [...this.#brokers.topics.keys()];
  }

  async describeConfigs({
    resources,
  }: {
    readonly resources: readonly { readonly name: string }[];
  }): Promise<object> {
    await this.#answered();
    return {
      resources: resources.map(({ name }) => ({
        resourceName: name,
        configEntries: Object.entries(this.#topic(name).config).map(
          ([configName, configValue]) => ({
            configName,
            configValue,
          }),
        ),
      })),
    };
  }

  async fetchTopicMetadata({ topics }: { readonly topics: readonly string[] }): Promise<object> {
    await this.#answered();
    return {
      topics: topics.map((name) => ({
        name,
        partitions: this.#topic(name).partitions.map(({ index, leader, replicas }) => ({
          partitionId: index,
          leader,
          replicas,
        })),
      })),
    };
  }

  async fetchTopicOffsets(name: string): Promise<object> {
    await this.#answered();
    return this.#topic(name).partitions.map(({ index, highWatermark }) => ({
      partition: index,
      low: '0',
      high: String(highWatermark),
    }));
  }

  async fetchTopicOffsetsByTimestamp(name: string, timeMs: number): Promise<object> {
    await this.#answered();
    return this.#topic(name).partitions.map((partition) => {
      const found = partition.offsetAt(timeMs);
      const isCommitted = found >= 0 && found < partition.highWatermark;
      const offset = isCommitted ? found : partition.highWatermark;
      return { partition: partition.index, offset: String(offset) };
    });
  }

  async fetchOffsets({
    groupId,
    topics,
  }: {
    readonly groupId: string;
    readonly topics: readonly string[];
  }): Promise<object> {
    await this.#answered();
    const { commits } = this.#brokers.group(groupId);
    return topics.map((topic) => ({
      topic,
      partitions: this.#topic(topic).partitions.map(({ index: partition }) => {
        const commit = commits.get(`${topic}/${partition}`);
        const { offset, metadata } = commit ?? { offset: -1, metadata: null };
        return { partition, offset: String(offset), metadata };
      }),
    }));
  }

  #topic(name: string): MemoryTopic<SimulatedPartition> {
    const topic = this.#brokers.topics.get(name);
    if (topic === undefined) throw new KafkaAnswerError('UNKNOWN_TOPIC_OR_PARTITION', name);
    return topic;
  }

  async #answered(): Promise<void> {
    const isThere = this.#brokers.nodeIds.some(this.#brokers.isUp);
    await new Promise<void>((resolve) => {
      this.#brokers.time.pollAfter(isThere ? questionMs : giveUpMs, resolve, this.#owner);
    });
    if (isThere) return;
    const error = new Error('no broker can be reached');
    error.name = 'KafkaJSConnectionError';
    throw error;
  }
}
