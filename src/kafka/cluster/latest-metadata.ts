import type { KafkaErrorName } from '../protocol/errors.ts';
import { noTopicId, type DescribedTopic, type PartitionMetadata } from '../protocol/metadata.ts';

export interface TopicMetadata {
  readonly id: string;
  /** In the order of their numbers. */
  readonly partitions: readonly PartitionMetadata[];
}

/**
 * The newest answers about topics. A broker that has lost touch with the others goes on telling of the leaders
 * that it knew, so a leader is forgotten for a later one only, by its epoch. @see Kafka's Metadata.java, which has
 * the same rule
 */
export class LatestMetadata {
  readonly #topics = new Map<string, TopicMetadata>();
  readonly #errors = new Map<string, KafkaErrorName>();
  /** By the topic's id. A broker that does not know the topic takes nothing away from it. */
  readonly #leaders = new Map<string, readonly PartitionMetadata[]>();

  /** The topic by the last answer about it; undefined: there was none, or it is not there. */
  topic(name: string): TopicMetadata | undefined {
    return this.#topics.get(name);
  }

  /** Why the last answer about it brought nothing. */
  error(name: string): KafkaErrorName | undefined {
    return this.#errors.get(name);
  }

  /** Tells whether it is another topic than the known one of that name: one was deleted, and the other made again. */
  isOther({ name, error, id }: DescribedTopic): boolean {
    const known = this.#topics.get(name)?.id ?? id;
    return error === 'NONE' && id !== known;
  }

  learn({ name, error, id, partitions }: DescribedTopic): void {
    if (error === 'NONE') {
      this.#topics.set(name, { id, partitions: this.#latest(id, partitions) });
      this.#errors.delete(name);
    } else {
      // Brokers that have just started may not know it yet: what is known of it still holds then.
      if (error !== 'LEADER_NOT_AVAILABLE') this.#topics.delete(name);
      this.#errors.set(name, error);
    }
  }

  #latest(id: string, told: readonly PartitionMetadata[]): readonly PartitionMetadata[] {
    // One that was made again begins with the first epoch, and nothing tells it from the former one.
    if (id === noTopicId) return told;
    const known = this.#leaders.get(id) ?? [];
    const latest = told.map((each, partition) => {
      const former = known[partition];
      return former !== undefined && former.epoch > each.epoch ? former : each;
    });
    // A topic loses no partitions.
    latest.push(...known.slice(told.length));
    this.#leaders.set(id, latest);
    return latest;
  }
}
