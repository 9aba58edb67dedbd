import type { PostriderError } from '../../errors.ts';
import { PartitionQueue, type QueuedRecord, type Slice } from './partition-queue.ts';
import { partitionOf } from './partitioner.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';

const noHeaders: Record<string, HeaderValue> = {};

type Added = (queue: PartitionQueue, bytes: number) => void;
export type Done = (refused?: PostriderError) => void;

/** A topic's queues, and the records that wait to learn how many partitions it has. */
export class TopicQueues {
  readonly topic: string;
  #queues: (PartitionQueue | undefined)[] = [];
  #partitions: number | undefined;
  #undecided: { record: OutgoingRecord; bytes: number; done: Done }[] = [];

  constructor(topic: string) {
    this.topic = topic;
  }

  /** The queue that the record is in now; undefined while its partition cannot be known. */
  add(record: OutgoingRecord, bytes: number, done: Done): PartitionQueue | undefined {
    const { key, value, headers = noHeaders, mayWait = false } = record;
    let { partition } = record;
    const isPlaced = partition !== undefined;
    if (partition === undefined) {
      if (this.#partitions === undefined) {
        this.#undecided.push({ record, bytes, done });
        return undefined;
      }
      partition = partitionOf(key, this.#partitions);
    }
    return this.#push({ key, value, headers, partition, bytes, mayWait, isPlaced, done });
  }

  /**
   * Gives records to other partitions if theirs is gone, because the topic was made again with fewer, and
   * calls `added` for each. False if they stay.
   */
  move({ queue, records }: Slice, added: Added): boolean {
    const partitions = this.#partitions;
    if (partitions === undefined || queue.partition < partitions) return false;
    if (records.some(({ isPlaced }) => isPlaced)) return false;
    for (const record of records)
      added(
        this.#push({ ...record, partition: partitionOf(record.key, partitions) }),
        record.bytes,
      );
    return true;
  }

  /** Also calls `added` for every record that waited for this. */
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
