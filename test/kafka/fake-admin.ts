import type { KafkaClient } from '../../src/kafka/client.ts';

/** A cluster without topics, as somebody sees it who administers it through kafkajs. */
export class FakeAdmin {
  /** It keeps its connections, and answers no question. */
  isHanging = false;
  #unanswered: PromiseWithResolvers<undefined> | undefined = undefined;

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
      listTopics: () => answer([]),
    };
  }
}
