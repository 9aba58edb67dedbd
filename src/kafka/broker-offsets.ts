import type { Admin } from 'kafkajs';
import type { KafkaClient } from './client.ts';

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
  private readonly admin: Admin;

  constructor(kafka: KafkaClient) {
    // The callers have loops of their own.
    this.admin = kafka.admin({ retry: { retries: 1, initialRetryTime: 100 } });
  }

  /** Of a group, by topic and partition; -1 where nothing is committed. */
  async committed(
    groupId: string,
    topics: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
    await this.admin.connect();
    const answer = await this.admin.fetchOffsets({ groupId, topics: [...topics] });
    return new Map(
      answer.map(({ topic, partitions }) => [
        topic,
        new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)])),
      ]),
    );
  }

  async ranges(topic: string): Promise<ReadonlyMap<number, OffsetRange>> {
    await this.admin.connect();
    const answer = await this.admin.fetchTopicOffsets(topic);
    return new Map(
      answer.map(({ partition, low, high }) => [
        partition,
        { earliest: Number(low), end: Number(high) },
      ]),
    );
  }

  async existing(topics: readonly string[]): Promise<string[]> {
    await this.admin.connect();
    const known = new Set(await this.admin.listTopics());
    return topics.filter((topic) => known.has(topic));
  }

  async deleteGroup(groupId: string): Promise<void> {
    await this.admin.connect();
    await this.admin.deleteGroups([groupId]);
  }

  async close(): Promise<void> {
    await this.admin.disconnect();
  }
}
