import type { Admin } from 'kafkajs';
import { PostriderError } from '../../errors.ts';
import type { KafkaClient } from '../client.ts';
import type { TopicPartition } from '../record.ts';

/** Of one partition: the oldest offset that is kept, and the one that the next record will get. */
export interface OffsetRange {
  readonly earliest: number;
  readonly end: number;
}

/**
 * The offsets that a consumer needs and kafkajs's consumer does not tell, over a connection of their
 * own. Every method throws when Kafka is away; the callers try again.
 */
export class BrokerOffsets {
  readonly #kafka: KafkaClient;
  #admin: Admin | undefined;
  #isClosed = false;

  constructor(kafka: KafkaClient) {
    this.#kafka = kafka;
  }

  /** Of a group, by topic and partition; -1 where nothing is committed. Throws unless all are answered for. */
  async committed(
    groupId: string,
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
    const topics = [...new Set(partitions.map(({ topic }) => topic))];
    return this.#ask(async (admin) => {
      const answer = await admin.fetchOffsets({ groupId, topics });
      const committed = new Map(answer.map((each) => [each.topic, offsetsOf(each.partitions)]));
      for (const { topic, partition } of partitions) {
        // kafkajs asks only for what its metadata name, and they may be of fewer topics, or of before the
        // partition was added. Taken for one without a commit, it would be read from its beginning.
        if (committed.get(topic)?.has(partition) !== true)
          throw new Error(`the answer does not name partition ${partition} of ${topic}`);
      }
      return committed;
    });
  }

  async ranges(topic: string): Promise<ReadonlyMap<number, OffsetRange>> {
    const answer = await this.#ask((admin) => admin.fetchTopicOffsets(topic));
    return new Map(
      answer.map(({ partition, low, high }) => [
        partition,
        { earliest: Number(low), end: Number(high) },
      ]),
    );
  }

  async existing(topics: readonly string[]): Promise<string[]> {
    const known = new Set(await this.#ask((admin) => admin.listTopics()));
    return topics.filter((topic) => known.has(topic));
  }

  async deleteGroup(groupId: string): Promise<void> {
    await this.#ask((admin) => admin.deleteGroups([groupId]));
  }

  /**
   * Whoever asks on, or has just begun to, is refused: a connection would be left open. Not waited for:
   * kafkajs closes one once all is answered, which for a broker that hangs is never.
   */
  close(): void {
    this.#isClosed = true;
    this.#admin?.disconnect().catch(() => undefined);
    this.#admin = undefined;
  }

  async #ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    this.#refuseWhenClosed();
    // The callers have loops of their own.
    const admin = (this.#admin ??= this.#kafka.admin({
      retry: { retries: 1, initialRetryTime: 100 },
    }));
    try {
      await admin.connect();
      this.#refuseWhenClosed();
      return await question(admin);
    } catch (error) {
      // kafkajs asks for the metadata of every topic that a connection ever dealt with, and fails for
      // ever once one of them is deleted.
      if (this.#admin === admin) this.#admin = undefined;
      void admin.disconnect().catch(() => undefined);
      throw error;
    }
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw new PostriderError('stopped', 'The consumer is stopped');
  }
}

function offsetsOf(
  partitions: readonly { readonly partition: number; readonly offset: string }[],
): Map<number, number> {
  return new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
}
