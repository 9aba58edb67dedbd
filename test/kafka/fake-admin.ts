import type { KafkaClient } from '../../src/kafka/client.ts';
import { FakeBrokers } from './fake-brokers.ts';
import type { FakeCluster } from './fake-cluster.ts';

/**
 * A cluster as somebody sees it who administers it through kafkajs. Of its topics only the names are known: no
 * partition has a leader, unless the test says what the one broker says that kafkajs asks. Brokers in memory would
 * have partitions and leaders, whose lack is what its tests are about.
 */
export class FakeAdmin {
  topics: readonly string[];
  /** Of the only partition of each topic. */
  told: { readonly end: number; readonly committed: number } | undefined;
  /** Whom others ask. */
  readonly brokers: FakeBrokers = new FakeBrokers();
  /** It keeps its connections, and answers no question. */
  isHanging = false;
  timesListed = 0;
  #unanswered: PromiseWithResolvers<undefined> | undefined = undefined;

  constructor(...topics: readonly string[]) {
    this.topics = topics;
  }

  get client(): KafkaClient {
    return this as unknown as KafkaClient;
  }

  /** It answers again, also what it was asked before. */
  answer(): void {
    this.isHanging = false;
    this.#unanswered?.resolve(undefined);
    this.#unanswered = undefined;
  }

  openCluster(): FakeCluster {
    return this.brokers.openCluster();
  }

  admin(): object {
    const answer = async <T>(value: T): Promise<T> => {
      if (this.isHanging) await (this.#unanswered ??= Promise.withResolvers<undefined>()).promise;
      return value;
    };
    return {
      connect: () => answer(undefined),
      // kafkajs waits for what was asked.
      disconnect: () => answer(undefined),
      listTopics: () => {
        this.timesListed += 1;
        return answer(this.topics);
      },
      fetchTopicOffsets: async () => {
        await answer(undefined);
        if (this.told === undefined) throw new Error('This server is not the leader');
        return [{ partition: 0, low: '0', high: String(this.told.end) }];
      },
      fetchOffsets: ({ topics }: { readonly topics: readonly string[] }) => {
        const partitions = [{ partition: 0, offset: String(this.told?.committed ?? -1) }];
        return answer(topics.map((topic) => ({ topic, partitions })));
      },
      deleteTopics: ({ topics }: { readonly topics: readonly string[] }) => {
        this.topics = this.topics.filter((topic) => !topics.includes(topic));
        return answer(undefined);
      },
    };
  }
}
