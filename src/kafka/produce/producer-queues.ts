import { PostriderError } from '../../errors.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { topicsOf, type Batch } from './batch.ts';
import { FlushLine } from './flush-line.ts';
import { FlushPace } from './flush-pace.ts';
import { PartitionCounts } from './partition-counts.ts';
import type { PartitionQueue, Slice } from './partition-queue.ts';
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
/** For records that may wait: a call for a thousand of them costs little more than one for ten. */
const patienceMs = 200;

/** Decides what is written in which call, and when. Knows nothing of kafkajs. */
export class ProducerQueues implements BatchWriter {
  /** Given and not settled. */
  records = 0;
  bytes = 0;
  readonly #options: ProducerQueuesOptions;
  readonly #topics = new Map<string, TopicQueues>();
  readonly #counts: PartitionCounts;
  readonly #pace = new FlushPace();
  readonly #prompt: FlushLine;
  readonly #patient: FlushLine;
  #isClosed = false;
  readonly #stop = new AbortController();
  readonly #loggedAt = new Map<string, number>();
  #onEmpty: (() => void) | undefined;

  constructor(options: ProducerQueuesOptions) {
    this.#options = options;
    const { clock } = options;
    const onBatch = (batch: Batch): void => {
      this.#pace.flushed(clock.now(), batch.length);
      void writeBatch(batch, this);
    };
    this.#prompt = new FlushLine({ clock, waitMs: (now) => this.#pace.waitMs(now), onBatch });
    this.#patient = new FlushLine({ clock, waitMs: () => patienceMs, onBatch });
    this.#counts = new PartitionCounts({
      countPartitions: (topic) => options.countPartitions(topic),
      onCount: (topic, partitions) => {
        this.#topic(topic).setPartitions(partitions, this.#added);
      },
      pause: (ms) => this.pause(ms),
      clock,
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
    this.#prompt.close();
    this.#patient.close();
    this.#stop.abort();
  }

  async call(batch: Batch): Promise<void> {
    await this.#options.call(batch);
    const records = batch.reduce((sum, slice) => sum + slice.records.length, 0);
    this.#options.hooks.written?.({ records, partitions: batch.length });
  }

  settle(batch: Batch, refused?: PostriderError): void {
    for (const slice of batch) {
      const { queue, records, bytes } = slice;
      this.records -= records.length;
      this.bytes -= bytes;
      if (refused !== undefined) this.#options.hooks.refused?.(queue.topic);
      for (const { done } of records) done(refused);
      this.#landed(slice);
    }
    if (this.records === 0) this.#onEmpty?.();
  }

  onFailure({ reason, message }: ProduceFailure, batch: Batch, failures: number): void {
    const { clock, log, hooks } = this.#options;
    const topics = topicsOf(batch);
    hooks.failed?.(reason, topics);
    // Its topic may have been made again, with fewer partitions.
    if (reason === 'PartitionUnanswered')
      for (const topic of topics) void this.#counts.recount(topic);
    const now = clock.now();
    if (now - (this.#loggedAt.get(reason) ?? -Infinity) < logAgainAfterMs) return;
    this.#loggedAt.set(reason, now);
    log.warn(
      { reason, failures, topics, queuedRecords: this.records },
      `Kafka did not take a batch, trying again: ${message}`,
    );
  }

  withoutMoved(batch: Batch): Batch {
    return batch.filter((slice) => {
      if (!this.#topic(slice.queue.topic).move(slice, this.#added)) return true;
      this.#landed(slice);
      return false;
    });
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
    if (queue.length === 1) this.#lineOf(queue).join(queue);
    else this.#lineOf(queue).grow(1, bytes);
  };

  /** It is no longer on its way; what waits behind it may go. */
  #landed({ queue, records }: Slice): void {
    queue.settle(records.length);
    if (!queue.isInFlight && queue.length > 0) this.#lineOf(queue).join(queue);
  }

  #lineOf({ mayWait }: PartitionQueue): FlushLine {
    return mayWait ? this.#patient : this.#prompt;
  }
}

function stopped(): PostriderError {
  return new PostriderError('stopped', 'The producer is closed and takes no more records');
}
