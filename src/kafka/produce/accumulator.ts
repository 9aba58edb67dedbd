import { PostriderError } from '../../errors.ts';
import type { Clock } from '../../ops/clock.ts';
import type { OutgoingRecord } from '../record.ts';
import type { ProducerEvents } from './events.ts';
import { FlushLine, FlushPace } from './flush-line.ts';
import type { PartitionQueue, QueuedRecord, Slice } from './partition-queue.ts';
import { recordBytes } from './record-size.ts';
import { TopicQueues, type Done } from './topic-queues.ts';
import { WriteTrouble } from './write-trouble.ts';

export interface AccumulatorOptions {
  readonly clock: Clock;
  /** One slice for each partition with nothing in flight. */
  onFlush(slices: readonly Slice[]): void;
  /** Records wait for the topic's number of partitions. */
  onUnknown(topic: string): void;
  readonly events: ProducerEvents;
}

/** Bound on records that wait or are in flight: what a busy process writes in a second. */
const maxQueuedBytes = 64 * 1024 * 1024;
/** For records that may wait: a request with a thousand of them costs little more than one with ten. */
const patienceMs = 200;

/** The waiting records, and when they are sent. */
export class Accumulator {
  /** Records that were added and are not settled. */
  records = 0;
  bytes = 0;
  readonly #options: AccumulatorOptions;
  readonly #topics = new Map<string, TopicQueues>();
  readonly #pace = new FlushPace();
  readonly #prompt: FlushLine;
  readonly #patient: FlushLine;
  /** Set while a caller waits for room. */
  #room: { readonly made: Promise<void>; readonly make: () => void } | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: AccumulatorOptions) {
    this.#options = options;
    const { clock } = options;
    const onFlush = (slices: readonly Slice[]): void => {
      this.#pace.flushed(clock.now(), slices.length);
      options.onFlush(slices);
    };
    this.#prompt = new FlushLine({ clock, waitMs: (now) => this.#pace.waitMs(now), onFlush });
    this.#patient = new FlushLine({ clock, waitMs: () => patienceMs, onFlush });
  }

  add(record: OutgoingRecord, done: Done): void {
    let bytes: number;
    try {
      bytes = recordBytes(record);
    } catch (error) {
      this.#options.events.refused(record.topic);
      queueMicrotask(() => {
        done(error as PostriderError);
      });
      return;
    }
    // The clock is asked only for records that may go elsewhere.
    const nowMs = record.elsewhereAfterMs === undefined ? 0 : this.#options.clock.now();
    const queue = this.#topic(record.topic).add(record, bytes, done, nowMs);
    if (queue instanceof WriteTrouble) {
      queueMicrotask(() => {
        done(queue.error(record.topic));
      });
      return;
    }
    this.records += 1;
    this.bytes += bytes;
    if (queue !== undefined) this.#added(queue, bytes);
    else this.#options.onUnknown(record.topic);
  }

  /** Nothing is known of the topic. Records that have another place come back, once that has lasted for too long. */
  missing(name: string, reason: string): void {
    const topic = this.#topic(name);
    const away = topic.missing(reason, this.#options.clock.now());
    if (away.length > 0) this.settle(away, topic.trouble.error(name));
  }

  /**
   * The partition cannot be written. Records that have another place come back, once that has lasted for too long.
   * @param taken the slice that is in flight
   * @returns whether all of the slice comes back, so that nothing of the partition is in flight anymore
   */
  giveBack(queue: PartitionQueue, taken: readonly QueuedRecord[], reason: string): boolean {
    const { trouble } = queue;
    const nowMs = this.#options.clock.now();
    trouble.failed(reason, nowMs);
    const isWhole = taken.every((record) => trouble.isTooLongFor(record, queue.bytes, nowMs));
    const waiting = queue.takeTurnedAway(nowMs);
    const away = isWhole ? [...taken, ...waiting] : waiting;
    if (away.length > 0) this.settle(away, trouble.error(queue.topic));
    if (isWhole) this.landed(queue);
    return isWhole;
  }

  /** See `Producer`. */
  unwritable(): ReadonlyMap<string, number> {
    const nowMs = this.#options.clock.now();
    const topics = Array.from(
      this.#topics,
      ([name, topic]) => [name, topic.unwritable(nowMs)] as const,
    );
    return new Map(topics.filter(([, partitions]) => partitions > 0));
  }

  setPartitions(topic: string, partitions: number): void {
    this.#topic(topic).setPartitions(partitions, this.#added);
  }

  /** These records are written, or refused. */
  settle(records: readonly Pick<QueuedRecord, 'bytes' | 'done'>[], refused?: PostriderError): void {
    this.records -= records.length;
    for (const { bytes } of records) this.bytes -= bytes;
    for (const { done } of records) done(refused);
    if (this.bytes < maxQueuedBytes) this.stopWaiting();
    if (this.records === 0) this.#onEmpty?.();
  }

  /** Nothing of the queue is in flight anymore, so what waits behind may go. */
  landed(queue: PartitionQueue): void {
    queue.isInFlight = false;
    if (queue.length > 0) this.#join(queue);
  }

  /** Moves records to other partitions if theirs no longer exists. False if they stay. */
  move(queue: PartitionQueue, records: readonly QueuedRecord[]): boolean {
    const hasMoved = this.#topic(queue.topic).move(queue.partition, records, this.#added);
    if (hasMoved) this.landed(queue);
    return hasMoved;
  }

  /** True also until callers that wait for room have continued, so that no later records go before theirs. */
  get isFull(): boolean {
    return this.#room !== undefined || this.bytes >= maxQueuedBytes;
  }

  /** Resolves when there is room, or by `stopWaiting`. */
  async room(): Promise<void> {
    if (!this.isFull) return;
    if (this.#room === undefined) {
      let make = (): void => undefined;
      const made = new Promise<void>((resolve) => (make = resolve));
      this.#room = { made, make };
    }
    return this.#room.made;
  }

  stopWaiting(): void {
    this.#room?.make();
    this.#room = undefined;
  }

  /** Resolves when all records are settled. */
  async emptied(): Promise<void> {
    if (this.records > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  close(): void {
    this.#prompt.close();
    this.#patient.close();
  }

  #topic(name: string): TopicQueues {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = new TopicQueues(name);
      this.#topics.set(name, topic);
    }
    return topic;
  }

  readonly #added = (queue: PartitionQueue, bytes: number): void => {
    if (queue.isInFlight) return;
    if (queue.length === 1) this.#join(queue);
    else if (queue.isPatient && !queue.mayWait) {
      this.#patient.leave(queue, queue.length - 1, queue.bytes - bytes);
      this.#join(queue);
    } else this.#lineOf(queue).grow(1, bytes);
  };

  #join(queue: PartitionQueue): void {
    queue.isPatient = queue.mayWait;
    this.#lineOf(queue).join(queue);
  }

  #lineOf({ isPatient }: PartitionQueue): FlushLine {
    return isPatient ? this.#patient : this.#prompt;
  }
}
