import type { TopicPartition } from './record.ts';

/** One value for each partition. Looked up for every batch, so no combined key is built. */
export class PartitionMap<T> {
  readonly #topics = new Map<string, Map<number, T>>();

  get(topic: string, partition: number): T | undefined {
    return this.#topics.get(topic)?.get(partition);
  }

  set({ topic, partition }: TopicPartition, value: T): void {
    let partitions = this.#topics.get(topic);
    if (partitions === undefined) {
      partitions = new Map();
      this.#topics.set(topic, partitions);
    }
    partitions.set(partition, value);
  }

  delete({ topic, partition }: TopicPartition): void {
    const partitions = this.#topics.get(topic);
    partitions?.delete(partition);
    if (partitions?.size === 0) this.#topics.delete(topic);
  }

  *values(): Generator<T> {
    for (const partitions of this.#topics.values()) yield* partitions.values();
  }
}
