import { PostriderError } from '../../errors.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { fullBatch, takeBatch, topicsOf, type Batch } from './batch.ts';
import { FlushPace } from './flush-pace.ts';
import { PartitionCounts } from './partition-counts.ts';
import type { PartitionQueue } from './partition-queue.ts';
import type { ProduceFailure } from './produce-failure.ts';
import type { OutgoingRecord } from '../record.ts';
import { recordBytes } from './record-size.ts';
import { TopicQueues, type Done } from './topic-queues.ts';
import { writeBatch, type BatchWriter } from './write-batch.ts';

/** What happens, for metrics. */
export interface ProducerHooks {
  /** Once a call. */
  written?(call: { readonly records: number; readonly partitions: number }): void;
  /** A call about these topics failed and will be repeated. `reason` is from a closed set. */
  failed?(reason: string, topics: readonly string[]): void;
  /** A record can never be written. */
  refused?(topic: string): void;
}

export interface ProducerQueuesOptions {
  /** One call to Kafka; resolves only if every record of it is on every in-sync replica. */
  call(batch: Batch): Promise<void>;
  /** Asks Kafka; rejects while it is away or does not have the topic. */
  countPartitions(topic: string): Promise<number>;
  /** Resolves after so long, or when the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hooks: ProducerHooks;
}

/** An outage fails each call every few seconds. */
const logAgainAfterMs = 10_000;

/** Decides what is written in which call, and when. Knows nothing of kafkajs. */
export class ProducerQueues implements BatchWriter {
  /** Given and not settled. */
  records = 0;
  bytes = 0;
  readonly #options: ProducerQueuesOptions;
  readonly #topics = new Map<string, TopicQueues>();
  readonly #counts: PartitionCounts;
  readonly #pace = new FlushPace();
  /** Queues with records and nothing in flight; the one that has waited longest first. */
  readonly #ready: PartitionQueue[] = [];
  #readyRecords = 0;
  #readyBytes = 0;
  #flushTimer: Timer | undefined;
  #flushIsNext = false;
  #isClosed = false;
  readonly #stop = new AbortController();
  readonly #loggedAt = new Map<string, number>();
  #onEmpty: (() => void) | undefined;

  constructor(options: ProducerQueuesOptions) {
    this.#options = options;
    this.#counts = new PartitionCounts({
      countPartitions: (topic) => options.countPartitions(topic),
      onCount: (topic, partitions) => {
        this.#topic(topic).setPartitions(partitions, this.#added);
      },
      pause: (ms) => this.pause(ms),
      clock: options.clock,
      log: options.log,
    });
  }

  add(record: OutgoingRecord, done: Done): void {
    if (this.#isClosed) throw stopped();
    let bytes: number;
    try {
      bytes = recordBytes(record);
    } catch (error) {
      this.#options.hooks.refused?.(record.topic);
      queueMicrotask(() => {
        done(error as PostriderError);
      });
      return;
    }
    this.records += 1;
    this.bytes += bytes;
    const queue = this.#topic(record.topic).add(record, bytes, done);
    if (queue !== undefined) this.#added(queue, bytes);
    else void this.#counts.get(record.topic);
  }

  async addAll(records: readonly OutgoingRecord[]): Promise<void> {
    if (records.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      let open = records.length;
      let first: PostriderError | undefined;
      const onStop = (): void => {
        reject(stopped());
      };
      const done: Done = (refused) => {
        first ??= refused;
        open -= 1;
        if (open > 0) return;
        this.#stop.signal.removeEventListener('abort', onStop);
        if (first === undefined) resolve();
        else reject(first);
      };
      for (const record of records) this.add(record, done);
      this.#stop.signal.addEventListener('abort', onStop);
    });
  }

  async partitionCount(topic: string): Promise<number> {
    return this.#counts.get(topic);
  }

  /** Takes no more, and waits until all is settled or `timeoutMs` have passed. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.records > 0) {
      const timeout = new AbortController();
      const emptied = new Promise<void>((resolve) => (this.#onEmpty = resolve));
      await Promise.race([emptied, this.#options.pause(timeoutMs, timeout.signal)]);
      timeout.abort();
    }
    this.#counts.stop();
    this.#flushTimer?.cancel();
    this.#stop.abort();
  }

  async call(batch: Batch): Promise<void> {
    await this.#options.call(batch);
    const records = batch.reduce((sum, slice) => sum + slice.records.length, 0);
    this.#options.hooks.written?.({ records, partitions: batch.length });
  }

  settle(batch: Batch, refused?: PostriderError): void {
    for (const { queue, records, bytes } of batch) {
      this.records -= records.length;
      this.bytes -= bytes;
      if (refused !== undefined) this.#options.hooks.refused?.(queue.topic);
      for (const { done } of records) done(refused);
      queue.settle(records.length);
      if (!queue.isInFlight && queue.length > 0) this.#isReady(queue, queue.length, queue.bytes);
    }
    if (this.records === 0) this.#onEmpty?.();
  }

  onFailure({ reason, message }: ProduceFailure, batch: Batch, failures: number): void {
    const { clock, log, hooks } = this.#options;
    const topics = topicsOf(batch);
    hooks.failed?.(reason, topics);
    const now = clock.now();
    if (now - (this.#loggedAt.get(reason) ?? -Infinity) < logAgainAfterMs) return;
    this.#loggedAt.set(reason, now);
    log.warn(
      { reason, failures, topics, queuedRecords: this.records },
      `Kafka did not take a batch, trying again: ${message}`,
    );
  }

  async pause(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    if (!signal.aborted) await this.#options.pause(ms, signal);
    return !signal.aborted;
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
    if (queue.length === 1) this.#isReady(queue, 1, bytes);
    else this.#moreReady(1, bytes);
  };

  #isReady(queue: PartitionQueue, records: number, bytes: number): void {
    this.#ready.push(queue);
    this.#moreReady(records, bytes);
  }

  #moreReady(records: number, bytes: number): void {
    this.#readyRecords += records;
    this.#readyBytes += bytes;
    if (this.#flushIsNext) return;
    const isFull = this.#readyRecords >= fullBatch.records || this.#readyBytes >= fullBatch.bytes;
    if (isFull) this.#flushNext();
    else if (this.#flushTimer === undefined) this.#flushPaced();
  }

  #flushPaced(): void {
    const { clock } = this.#options;
    const waitMs = this.#pace.waitMs(clock.now());
    if (waitMs > 0)
      this.#flushTimer = clock.after(waitMs, () => {
        this.#flush();
      });
    else this.#flushNext();
  }

  /** Not at once: whoever gave a record may be about to give the next ones. */
  #flushNext(): void {
    this.#flushIsNext = true;
    setImmediate(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    this.#flushIsNext = false;
    if (this.#stop.signal.aborted) return;
    const batch = takeBatch(this.#ready);
    if (batch.length === 0) return;
    for (const { queue, records, bytes } of batch) {
      this.#readyRecords -= records.length + queue.length;
      this.#readyBytes -= bytes + queue.bytes;
    }
    this.#pace.flushed(this.#options.clock.now(), batch.length);
    void writeBatch(batch, this);
    // One call after the other, so that answers and other work come between.
    if (this.#ready.length > 0) this.#flushNext();
  }
}

function stopped(): PostriderError {
  return new PostriderError('stopped', 'The producer is closed and takes no more records');
}
