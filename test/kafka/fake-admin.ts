import type { KafkaClient } from '../../src/kafka/client.ts';

/** A cluster without topics, as somebody sees it who administers it through kafkajs. */
export class FakeAdmin {
  /** It keeps its connections, and answers no question. */
  isHanging = false;

  get client(): KafkaClient {
    return this as unknown as KafkaClient;
  }

  admin(): object {
    let unanswered: Promise<never> | undefined;
    const answer = <T>(value: T): Promise<T> => {
      if (!this.isHanging) return Promise.resolve(value);
      return (unanswered ??= Promise.withResolvers<never>().promise);
    };
    return {
      connect: () => answer(undefined),
      // kafkajs waits for what was asked.
      disconnect: () => unanswered ?? Promise.resolve(),
      listTopics: () => answer([]),
    };
  }
}
