import type { PostriderError } from '../../errors.ts';
import { PartitionQueue, type QueuedRecord } from './partition-queue.ts';
import { partitionOf } from './partitioner.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';

const noHeaders: Record<string, HeaderValue> = {};

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
    if (partition === undefined) {
      if (this.#partitions === undefined) {
        this.#undecided.push({ record, bytes, done });
        return undefined;
      }
      partition = partitionOf(key, this.#partitions);
    }
    const queue = (this.#queues[partition] ??= new PartitionQueue(this.topic, partition));
    const queued: QueuedRecord = { key, value, headers, partition, bytes, mayWait, done };
    queue.push(queued);
    return queue;
  }

  /** Also calls `added` for every record that waited for this. */
  setPartitions(partitions: number, added: (queue: PartitionQueue, bytes: number) => void): void {
    this.#partitions = partitions;
    const undecided = this.#undecided;
    this.#undecided = [];
    for (const { record, bytes, done } of undecided) {
      const queue = this.add(record, bytes, done);
      if (queue !== undefined) added(queue, bytes);
    }
  }
}
