import type { PostriderError } from '../../errors.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';
import { PartitionQueue, type QueuedRecord } from './partition-queue.ts';
import { partitionOf } from './partitioner.ts';

const noHeaders: Readonly<Record<string, HeaderValue>> = {};

type Added = (queue: PartitionQueue, bytes: number) => void;
export type Done = (refused?: PostriderError) => void;

/** A topic's queues, and the records that wait for its number of partitions. */
export class TopicQueues {
  readonly topic: string;
  readonly #queues: (PartitionQueue | undefined)[] = [];
  #partitions: number | undefined;
  #undecided: { record: OutgoingRecord; bytes: number; done: Done }[] = [];

  constructor(topic: string) {
    this.topic = topic;
  }

  /** The queue that the record is in now; undefined while the topic is not known. */
  add(record: OutgoingRecord, bytes: number, done: Done): PartitionQueue | undefined {
    const { key, partitionKey = key, value, headers = noHeaders, mayWait = false } = record;
    if (this.#partitions === undefined) {
      this.#undecided.push({ record, bytes, done });
      return undefined;
    }
    const isPlaced = record.partition !== undefined;
    const partition = record.partition ?? partitionOf(partitionKey, this.#partitions);
    return this.#push({
      key,
      value,
      headers,
      partition,
      partitionKey,
      bytes,
      mayWait,
      isPlaced,
      done,
    });
  }

  /**
   * Moves records to other partitions if theirs no longer exist, because the topic was created again with
   * fewer, and calls `added` for each. False if they stay.
   */
  move(partition: number, records: readonly QueuedRecord[], added: Added): boolean {
    const partitions = this.#partitions;
    if (partitions === undefined || partition < partitions) return false;
    if (records.some(({ isPlaced }) => isPlaced)) return false;
    for (const record of records) {
      const partition = partitionOf(record.partitionKey, partitions);
      const queue = this.#push({ ...record, partition });
      added(queue, record.bytes);
    }
    return true;
  }

  /** Also calls `added` for every record that waited for the number. */
  setPartitions(partitions: number, added: Added): void {
    this.#partitions = partitions;
    const undecided = this.#undecided;
    this.#undecided = [];
    for (const { record, bytes, done } of undecided) {
      const queue = this.add(record, bytes, done);
      if (queue !== undefined) added(queue, bytes);
    }
  }

  #push(record: QueuedRecord): PartitionQueue {
    const { partition } = record;
    const queue = (this.#queues[partition] ??= new PartitionQueue(this.topic, partition));
    queue.push(record);
    return queue;
  }
}
