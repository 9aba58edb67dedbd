import { noCommit } from '../consume/acceptance.ts';
import type { BrokerOffsets } from '../consume/broker-offsets.ts';
import type { PartitionOffset } from '../consume/consumer-session.ts';
import type { Ranges } from './follower-progress.ts';

/**
 * A commit that nobody reads on from. The broker forgets it when the topic is deleted, so that a topic
 * that is made again and filled between two questions is not taken for the old one.
 */
export class DeletionMark {
  readonly #topic: string;
  readonly #offsets: Pick<BrokerOffsets, 'committed'>;
  /** The group whose mark the broker holds. */
  #group: string | undefined;

  constructor(topic: string, offsets: Pick<BrokerOffsets, 'committed'>) {
    this.#topic = topic;
    this.#offsets = offsets;
  }

  get isSet(): boolean {
    return this.#group !== undefined;
  }

  /** The broker has acknowledged the mark. */
  set(groupId: string): void {
    this.#group = groupId;
  }

  clear(): void {
    this.#group = undefined;
  }

  /** What to commit. The earliest offsets, because kafkajs may begin at them. */
  offsetsOf(ranges: Ranges): PartitionOffset[] {
    return [...ranges].map(([partition, { earliest }]) => ({
      topic: this.#topic,
      partition,
      offset: earliest,
    }));
  }

  /** True when the mark was set and is gone. Throws when Kafka is away. */
  async isForgotten(): Promise<boolean> {
    const group = this.#group;
    if (group === undefined) return false;
    const topic = this.#topic;
    const held = (await this.#offsets.committed(group, [{ topic, partition: 0 }])).get(topic);
    // Below -1: kafkajs put it there when the new topic ended before our position.
    return (
      group === this.#group && [...(held?.values() ?? [])].some((offset) => offset <= noCommit)
    );
  }
}
