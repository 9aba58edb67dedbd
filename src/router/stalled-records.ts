import type { ConsumedRecord } from '../kafka/consume/consumed-record.ts';
import type { TopicPartition } from '../kafka/record.ts';
import { schemaIdOf } from '../schemas/wire-format.ts';

/**
 * Records that cannot be read yet, and all records behind them in their partitions. Records of a partition
 * stay in order, and its window fills up, so that it is no longer read.
 */
export class StalledRecords {
  readonly #queues = new Map<string, ConsumedRecord[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether further records of the partition must be added too. */
  has(partition: TopicPartition): boolean {
    return this.#size > 0 && this.#queues.has(keyOf(partition));
  }

  /** Copies the record out of the fetch response, because it may be held for long. */
  add(record: ConsumedRecord): void {
    record.detach();
    const queue = this.#queues.get(keyOf(record));
    if (queue === undefined) this.#queues.set(keyOf(record), [record]);
    else queue.push(record);
    this.#size += 1;
  }

  /** For each partition that waits for this schema, the record that names it. */
  waitingFor(schemaId: number): readonly ConsumedRecord[] {
    return [...this.#queues.values()]
      .flatMap((queue) => queue.slice(0, 1))
      .filter(({ value }) => schemaIdOf(value) === schemaId);
  }

  /** Removes and returns all records of the partition, in order. */
  take(partition: TopicPartition): readonly ConsumedRecord[] {
    const queue = this.#queues.get(keyOf(partition)) ?? [];
    this.#queues.delete(keyOf(partition));
    this.#size -= queue.length;
    return queue;
  }

  takeAll(): readonly ConsumedRecord[] {
    const records = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return records;
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
