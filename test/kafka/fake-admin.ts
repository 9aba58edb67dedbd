import type { KafkaClient } from '../../src/kafka/client.ts';

/**
 * A cluster as somebody sees it who administers it through kafkajs. Of its topics only the names are known: no
 * partition has a leader.
 */
export class FakeAdmin {
  readonly topics: readonly string[];
  /** It keeps its connections, and answers no question. */
  isHanging = false;
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

  admin(): object {
    const answer = async <T>(value: T): Promise<T> => {
      if (this.isHanging) await (this.#unanswered ??= Promise.withResolvers<undefined>()).promise;
      return value;
    };
    return {
      connect: () => answer(undefined),
      // kafkajs waits for what was asked.
      disconnect: () => answer(undefined),
      listTopics: () => answer(this.topics),
      fetchTopicOffsets: async () => {
        await answer(undefined);
        throw new Error('This server is not the leader');
      },
    };
  }
}
