import { setTimeout as delay } from 'node:timers/promises';
import { encodeBatch } from '../../../../src/kafka/protocol/batch-writer.ts';
import type { ProducerIdentity } from '../../../../src/kafka/protocol/produce.ts';
import { failureOf } from '../../../../src/kafka/failure.ts';
import { kafkaError } from '../../../kafka/batches.ts';
import type { SimulatedBrokers } from './brokers.ts';
import type { SimulatedCluster } from './client.ts';
import type { SimulatedPartition } from './partition.ts';
import { uncompressed } from '../../../kafka/uncompressed.ts';

export interface TransactionalOptions {
  readonly transactionalId: string;
  readonly transactionTimeout: number;
  readonly retry: {
    readonly initialRetryTime: number;
    readonly maxRetryTime: number;
    readonly retries: number;
  };
}

interface Message {
  readonly key: string | null;
  readonly value: string | null;
  readonly partition: number;
  readonly headers?: Readonly<Record<string, string>>;
}

interface SendBatch {
  readonly timeout: number;
  readonly topicMessages: readonly {
    readonly topic: string;
    readonly messages: readonly Message[];
  }[];
}

interface Part {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly Message[];
}

/** As by kafkajs: what it tries again. */
const temporary: ReadonlySet<string> = new Set([
  'CONCURRENT_TRANSACTIONS',
  'COORDINATOR_NOT_AVAILABLE',
  'LEADER_NOT_AVAILABLE',
  'NETWORK_EXCEPTION',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'NOT_LEADER_FOR_PARTITION',
  'REQUEST_TIMED_OUT',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

/**
 * As much of kafkajs's transactional producer as transactions ask, with its ways: it fences when its first
 * transaction begins, tries everything again but the end of a transaction, and counts sequences that were answered.
 */
export class SimulatedTransactionalProducer {
  readonly #brokers: SimulatedBrokers;
  readonly #cluster: SimulatedCluster;
  readonly #options: TransactionalOptions;
  readonly #sequences = new Map<string, number>();
  #identity: ProducerIdentity | undefined;

  constructor(brokers: SimulatedBrokers, cluster: SimulatedCluster, options: TransactionalOptions) {
    this.#brokers = brokers;
    this.#cluster = cluster;
    this.#options = options;
  }

  async connect(): Promise<void> {
    await this.#retried(() => this.#cluster.refresh([]));
  }

  async disconnect(): Promise<void> {
    this.#cluster.close();
    await Promise.resolve();
  }

  async transaction(): Promise<object> {
    const { transactionalId: id, transactionTimeout } = this.#options;
    const { transactions } = this.#brokers;
    this.#identity ??= await this.#retried(() =>
      this.#cluster.askCoordinatorOfTransactions('InitProducerId', () =>
        transactions.begin(id, transactionTimeout),
      ),
    );
    const identity = this.#identity;
    let isOngoing = false;
    const end = async (isCommitted: boolean): Promise<void> => {
      if (!isOngoing) return;
      await this.#cluster.askCoordinatorOfTransactions('EndTxn', () => {
        transactions.end(id, identity, isCommitted);
      });
    };
    return {
      sendBatch: async (batch: SendBatch) => {
        const parts = partsOf(batch);
        const places = parts.map(({ topic, partition }) => this.#partition(topic, partition));
        await this.#retried(() =>
          this.#cluster.askCoordinatorOfTransactions('AddPartitionsToTxn', () => {
            transactions.join(id, identity, places);
          }),
        );
        isOngoing = true;
        return Promise.all(parts.map((part) => this.#produce(part, identity, batch.timeout)));
      },
      commit: () => end(true),
      abort: () => end(false),
    };
  }

  async #produce(
    { topic, partition, messages }: Part,
    identity: ProducerIdentity,
    timeoutMs: number,
  ): Promise<object> {
    const place = `${topic}/${partition}`;
    const sequence = this.#sequences.get(place) ?? 0;
    const origin = { producerId: identity.id, epoch: identity.epoch, sequence };
    const nowMs = Date.now();
    const batch = encodeBatch(messages, { ...origin, isTransactional: true }, uncompressed, nowMs);
    const baseOffset = await this.#retried(async () => {
      const { leader } = this.#partition(topic, partition);
      if (leader < 0) throw kafkaError('LEADER_NOT_AVAILABLE');
      const request = { timeoutMs, topics: [{ topic, partitions: [{ partition, batch }] }] };
      const [answer] = await this.#cluster.produce(leader, request);
      if (answer === undefined) throw kafkaError('NETWORK_EXCEPTION');
      if (answer.error !== 'NONE') throw kafkaError(answer.error);
      return answer.baseOffset;
    });
    this.#sequences.set(place, sequence + messages.length);
    return { topicName: topic, partition, baseOffset: String(baseOffset) };
  }

  #partition(topic: string, index: number): SimulatedPartition {
    const partition = this.#brokers.topics.get(topic)?.partitions[index];
    if (partition === undefined) throw kafkaError('UNKNOWN_TOPIC_OR_PARTITION');
    return partition;
  }

  async #retried<T>(ask: () => Promise<T>): Promise<T> {
    const { initialRetryTime, maxRetryTime, retries } = this.#options.retry;
    for (let failures = 0; ; failures += 1) {
      try {
        return await ask();
      } catch (error) {
        if (failures === retries || !temporary.has(failureOf(error).reason)) throw error;
        await delay(Math.min(initialRetryTime * 2 ** failures, maxRetryTime));
      }
    }
  }
}

function partsOf({ topicMessages }: SendBatch): Part[] {
  return topicMessages.flatMap(({ topic, messages }) => {
    const byPartition = Map.groupBy(messages, (message) => message.partition);
    return Array.from(byPartition, ([partition, some]) => ({ topic, partition, messages: some }));
  });
}
