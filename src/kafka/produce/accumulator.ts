import { PostriderError } from '../../errors.ts';
import type { SteadyClock, Timer } from '../../ops/clock.ts';
import { recordBytes, type OutgoingRecord } from '../record.ts';
import type { ProducerEvents } from './events.ts';
import { FlushLine, FlushPace } from './flush-line.ts';
import {
  WriteTrouble,
  type PartitionQueue,
  type QueuedRecord,
  type Slice,
  type UnsettledRecord,
} from './partition-queue.ts';
import { TopicQueues, type Done } from './topic-queues.ts';

export interface AccumulatorOptions {
  readonly clock: SteadyClock;
  /** See `ProducerOptions`. */
  readonly deliveryTimeoutMs: number | undefined;
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
/** A record that is late and about to be sent is in flight by then. */
const nextLookMs = 250;

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
  /** Set while the deadline of the oldest record is waited for. */
  #deadline: Timer | undefined;

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
    const addedMs = this.#options.deliveryTimeoutMs === undefined ? 0 : this.#deadlineBegins();
    const queue = this.#topic(record.topic).add(record, bytes, done, nowMs, addedMs);
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
  settle(records: readonly UnsettledRecord[], refused?: PostriderError): void {
    const unsettled = records.some(({ isSettled }) => isSettled)
      ? records.filter(({ isSettled }) => !isSettled)
      : records;
    this.records -= unsettled.length;
    for (const record of unsettled) {
      this.bytes -= record.bytes;
      record.isSettled = true;
    }
    for (const { done } of unsettled) done(refused);
    if (this.bytes < maxQueuedBytes) this.stopWaiting();
    if (this.records === 0) this.#onEmpty?.();
  }

  /** Nothing of the queue is in flight anymore, so what waits behind may go. */
  landed(queue: PartitionQueue): void {
    queue.inFlight = undefined;
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
    this.#deadline?.cancel();
  }

  #topic(name: string): TopicQueues {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = new TopicQueues(name);
      this.#topics.set(name, topic);
    }
    return topic;
  }

  /** Starts the timer of all records unless it runs. Returns the time at which this record is added. */
  #deadlineBegins(): number {
    const nowMs = this.#options.clock.steadyNow();
    if (this.#deadline === undefined) this.#giveUpAfter(this.#options.deliveryTimeoutMs ?? 0);
    return nowMs;
  }

  #giveUpAfter(ms: number): void {
    this.#deadline = this.#options.clock.after(ms, () => {
      this.#deadline = undefined;
      this.#giveUpLate();
    });
  }

  /** Tells the callers of late records, and keeps none of these but what is in flight. */
  #giveUpLate(): void {
    const { clock, deliveryTimeoutMs = 0 } = this.#options;
    const nowMs = clock.steadyNow();
    let oldestMs = Infinity;
    for (const [name, topic] of this.#topics) {
      const late = topic.takeAddedBefore(nowMs - deliveryTimeoutMs + 1);
      if (late.length > 0) this.settle(late, unacknowledged(name, deliveryTimeoutMs));
      oldestMs = Math.min(oldestMs, topic.oldestMs);
    }
    if (this.#deadline !== undefined || oldestMs === Infinity) return;
    this.#giveUpAfter(Math.max(oldestMs + deliveryTimeoutMs - nowMs, nextLookMs));
  }

  readonly #added = (queue: PartitionQueue, bytes: number): void => {
    if (queue.inFlight !== undefined) return;
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

function unacknowledged(topic: string, timeoutMs: number): PostriderError {
  return new PostriderError(
    'kafka-unavailable',
    `Kafka did not acknowledge a record for topic ${topic} within ${timeoutMs / 1_000} s`,
  );
}
