import type { PostriderError } from '../../errors.ts';
import type { HeaderValue, OutgoingRecord } from '../record.ts';
import {
  PartitionQueue,
  WriteTrouble,
  type QueuedRecord,
  type UnsettledRecord,
} from './partition-queue.ts';
import { partitionOf } from './partitioner.ts';

const noHeaders: Readonly<Record<string, HeaderValue>> = {};

type Added = (queue: PartitionQueue, bytes: number) => void;
export type Done = (refused?: PostriderError) => void;

interface Undecided extends UnsettledRecord {
  readonly record: OutgoingRecord;
}

/** A topic's queues, and the records that wait for its number of partitions. */
export class TopicQueues {
  readonly topic: string;
  readonly #queues: (PartitionQueue | undefined)[] = [];
  #partitions: number | undefined;
  #undecided: Undecided[] = [];
  /** While nothing is known of the topic. */
  readonly trouble: WriteTrouble = new WriteTrouble();

  constructor(topic: string) {
    this.topic = topic;
  }

  /**
   * The queue that the record is in now; undefined while the topic is not known; or the trouble because of which the
   * record has to go elsewhere.
   */
  add(
    record: OutgoingRecord,
    bytes: number,
    done: Done,
    nowMs: number,
    addedMs: number,
  ): PartitionQueue | WriteTrouble | undefined {
    const { key, partitionKey = key, value, headers = noHeaders, mayWait = false } = record;
    const { elsewhereAfterMs } = record;
    if (this.#partitions === undefined) {
      if (this.trouble.isTooLongFor({ elsewhereAfterMs }, 0, nowMs)) return this.trouble;
      this.#undecided.push({ record, bytes, addedMs, done, isSettled: false });
      return undefined;
    }
    const isPlaced = record.partition !== undefined;
    const partition = record.partition ?? partitionOf(partitionKey, this.#partitions);
    const queue = this.#queue(partition);
    if (queue.turnsAway({ elsewhereAfterMs }, nowMs)) return queue.trouble;
    queue.push({
      key,
      value,
      headers,
      partition,
      partitionKey,
      bytes,
      addedMs,
      mayWait,
      elsewhereAfterMs,
      isPlaced,
      done,
      isSettled: false,
    });
    return queue;
  }

  /** Nothing is known of the topic still. Takes out the records that should go elsewhere. */
  missing(reason: string, nowMs: number): readonly UnsettledRecord[] {
    if (this.#partitions !== undefined) return [];
    this.trouble.failed(reason, nowMs);
    const waitingBytes = this.#undecided.reduce((sum, { bytes }) => sum + bytes, 0);
    const isAway = ({ record: { elsewhereAfterMs } }: Undecided): boolean =>
      this.trouble.isTooLongFor({ elsewhereAfterMs }, waitingBytes, nowMs);
    const away = this.#undecided.filter(isAway);
    if (away.length > 0) this.#undecided = this.#undecided.filter((each) => !isAway(each));
    return away;
  }

  /** Takes out the records that were added before, and names those in flight: see `PartitionQueue`. */
  takeAddedBefore(ms: number): readonly UnsettledRecord[] {
    const late: UnsettledRecord[] = this.#undecided.filter(({ addedMs }) => addedMs < ms);
    if (late.length > 0) this.#undecided = this.#undecided.filter(({ addedMs }) => addedMs >= ms);
    for (const queue of this.#queues)
      for (const record of queue?.takeAddedBefore(ms) ?? []) late.push(record);
    return late;
  }

  /** The time at which the oldest record was added whose caller waits; Infinity: none waits. */
  get oldestMs(): number {
    let oldestMs = this.#undecided[0]?.addedMs ?? Infinity;
    for (const queue of this.#queues) oldestMs = Math.min(oldestMs, queue?.oldestMs ?? Infinity);
    return oldestMs;
  }

  /** The number of partitions that cannot be written for long enough to be told; 1 for a topic that is missing. */
  unwritable(nowMs: number): number {
    if (this.#partitions === undefined) return this.trouble.isNotable(nowMs) ? 1 : 0;
    return this.#queues.filter((queue) => queue?.trouble.isNotable(nowMs) === true).length;
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
      if (record.isSettled) continue;
      const partition = partitionOf(record.partitionKey, partitions);
      const queue = this.#queue(partition);
      queue.push({ ...record, partition });
      added(queue, record.bytes);
    }
    return true;
  }

  /** Also calls `added` for every record that waited for the number. */
  setPartitions(partitions: number, added: Added): void {
    this.#partitions = partitions;
    this.trouble.ended();
    const undecided = this.#undecided;
    this.#undecided = [];
    for (const { record, bytes, done, addedMs } of undecided) {
      const queue = this.add(record, bytes, done, 0, addedMs);
      if (queue instanceof PartitionQueue) added(queue, bytes);
    }
  }

  #queue(partition: number): PartitionQueue {
    return (this.#queues[partition] ??= new PartitionQueue(this.topic, partition));
  }
}
