import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import { systemClock, type SteadyClock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { waitUnlessAborted } from '../../ops/wait.ts';
import type { ProducerCluster } from '../cluster/writing-cluster.ts';
import { failureOf } from '../failure.ts';
import { backoffMs } from '../retrying.ts';
import type { Compressor } from '../protocol/compressor.ts';
import type { OutgoingRecord } from '../record.ts';
import { Accumulator } from './accumulator.ts';
import { ProducerEvents, type ProducerHooks } from './events.ts';
import { KnownTopics } from './known-topics.ts';
import { Sender } from './sender.ts';
import type { Done } from './topic-queues.ts';

/**
 * Writes records so that none is lost: each is sent again, for as long as it takes or its deadline allows, until every
 * in-sync replica has it. Records of one partition are written once, and in the order in which they were given. Kafka
 * recognizes repetitions, unless the partition has lost its state of this producer.
 */
export interface Producer {
  /**
   * Queues and returns at once. `done` is called exactly once, and never before this returns: without an
   * argument when every in-sync replica has the record, with a `record-refused` error when it can never be
   * written (too large, invalid), with an `unwritable` one as the record's `elsewhereAfterMs` says, or with a
   * `kafka-unavailable` one after the producer's `deliveryTimeoutMs`. It is not called after a close that did not wait
   * long enough.
   * @throws PostriderError `stopped` after `close`
   */
  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void;
  /**
   * Waits for room, queues, and resolves when all records are acknowledged. Otherwise, once all are settled,
   * rejects with the first error of a record, or with `stopped` when the producer closes before.
   */
  send(records: readonly OutgoingRecord[]): Promise<void>;
  /** Resolves when a broker answers. Waits while Kafka is unreachable; rejects when the producer closes before. */
  reached(): Promise<void>;
  /** Requested once, and again every minute. Waits while Kafka is unreachable or the topic is missing. */
  partitionCount(topic: string): Promise<number>;
  /**
   * The topics that have not taken records for ten seconds although Kafka answers, and of how many partitions; 1 for a
   * topic that is missing.
   */
  unwritable(): ReadonlyMap<string, number>;
  /** Records that are neither acknowledged nor refused yet. */
  readonly queuedRecords: number;
  readonly queuedBytes: number;
  /** By how much this process's clock is ahead of Kafka's, as answers prove; negative: behind. See `BrokerClocks`. */
  readonly clockAheadMs: number;
  /**
   * True while the producer holds 64 MiB. `produce` accepts more; callers without a bound of their own check
   * this.
   */
  readonly isFull: boolean;
  /** Resolves when the producer is not full, or closed. */
  whenRoom(): Promise<void>;
  /** Waits for everything queued, but no longer than `timeoutMs`, then disconnects. */
  close(timeoutMs: number): Promise<void>;
}

export interface ProducerOptions {
  readonly log: Logger;
  readonly clock?: SteadyClock;
  readonly hooks?: ProducerHooks;
  /**
   * The time from `produce` after which a record is given up, as `delivery.timeout.ms` of Kafka's Java producer. It may
   * have been written nevertheless. Undefined: records wait for as long as it takes.
   */
  readonly deliveryTimeoutMs?: number | undefined;
  /** Ends the waiting for Kafka. The promise then rejects. */
  readonly signal?: AbortSignal;
}

/** The part of a client that a producer uses. */
export interface ProducerClient {
  openCluster(): ProducerCluster;
  readonly compressor: Compressor;
}

/** Resolves once Kafka has been reached. Until then it retries, and logs that. */
export async function createProducer(
  kafka: ProducerClient,
  options: ProducerOptions,
): Promise<Producer> {
  const { log, clock = systemClock, hooks = {}, deliveryTimeoutMs, signal } = options;
  const cluster = kafka.openCluster();
  try {
    await reach(cluster, log, signal);
  } catch (error) {
    cluster.close();
    throw error;
  }
  const { compressor } = kafka;
  const pause = waitUnlessAborted;
  return new KafkaProducer({ cluster, compressor, clock, log, hooks, deliveryTimeoutMs, pause });
}

async function reach(cluster: ProducerCluster, log: Logger, signal?: AbortSignal): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      await cluster.refresh([]);
      return;
    } catch (error) {
      const { message, reason } = failureOf(error);
      log.warn({ reason, failures }, `Kafka cannot be reached, trying again: ${message}`);
      await delay(backoffMs(failures), undefined, { signal });
    }
  }
}

export interface ProducerParts {
  readonly cluster: ProducerCluster;
  readonly compressor: Compressor;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly hooks: ProducerHooks;
  readonly deliveryTimeoutMs?: number | undefined;
  /** Resolves after `ms`, or when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Records wait in the accumulator, and the sender writes what the accumulator passes on. */
export class KafkaProducer implements Producer {
  readonly #cluster: ProducerCluster;
  readonly #log: Logger;
  readonly #accumulator: Accumulator;
  readonly #topics: KnownTopics;
  readonly #pause: ProducerParts['pause'];
  readonly #sender: Sender;
  #isClosed = false;
  readonly #stop = new AbortController();

  constructor(parts: ProducerParts) {
    const { cluster, compressor, clock, log, hooks, deliveryTimeoutMs } = parts;
    const events = new ProducerEvents(log, clock, hooks);
    const pause = (ms: number): Promise<boolean> => this.#pauseUnlessStopped(ms);
    const { signal: stop } = this.#stop;
    const accumulator = new Accumulator({
      clock,
      deliveryTimeoutMs,
      events,
      onFlush: (slices) => {
        sender.send(slices);
      },
      onUnknown: (topic) => void topics.partitionCount(topic),
    });
    const onCount = (topic: string, partitions: number): void => {
      accumulator.setPartitions(topic, partitions);
    };
    const common = { cluster, clock, events, pause };
    const onMissing = (topic: string, reason: string): void => {
      accumulator.missing(topic, reason);
    };
    const topics = new KnownTopics({ ...common, onCount, onMissing });
    const sender = new Sender({
      ...common,
      compressor,
      topics,
      accumulator,
      deliveryTimeoutMs,
      stop,
    });
    this.#sender = sender;
    this.#cluster = cluster;
    this.#log = log;
    this.#topics = topics;
    this.#pause = parts.pause;
    this.#accumulator = accumulator;
  }

  unwritable(): ReadonlyMap<string, number> {
    return this.#accumulator.unwritable();
  }

  get queuedRecords(): number {
    return this.#accumulator.records;
  }

  get queuedBytes(): number {
    return this.#accumulator.bytes;
  }

  get clockAheadMs(): number {
    return this.#sender.clockAheadMs;
  }

  get isFull(): boolean {
    return this.#accumulator.isFull;
  }

  async whenRoom(): Promise<void> {
    return this.#isClosed ? undefined : this.#accumulator.room();
  }

  produce(record: OutgoingRecord, done: Done): void {
    if (this.#isClosed) throw stopped();
    this.#accumulator.add(record, done);
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    if (records.length === 0) return;
    while (this.isFull && !this.#isClosed) await this.whenRoom();
    await new Promise<void>((resolve, reject) => {
      const { signal } = this.#stop;
      let open = records.length;
      let first: PostriderError | undefined;
      const onStop = (): void => {
        reject(stopped());
      };
      const done: Done = (refused) => {
        first ??= refused;
        open -= 1;
        if (open > 0) return;
        signal.removeEventListener('abort', onStop);
        if (first === undefined) resolve();
        else reject(first);
      };
      for (const record of records) this.produce(record, done);
      signal.addEventListener('abort', onStop);
    });
  }

  async reached(): Promise<void> {
    await reach(this.#cluster, this.#log, this.#stop.signal);
  }

  async partitionCount(topic: string): Promise<number> {
    return this.#topics.partitionCount(topic);
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#accumulator.stopWaiting();
    const timeout = new AbortController();
    await Promise.race([this.#accumulator.emptied(), this.#pause(timeoutMs, timeout.signal)]);
    timeout.abort();
    this.#stop.abort();
    this.#topics.stop();
    this.#accumulator.close();
    this.#cluster.close();
  }

  async #pauseUnlessStopped(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    if (!signal.aborted) await this.#pause(ms, signal);
    return !signal.aborted;
  }
}

function stopped(): PostriderError {
  return new PostriderError('stopped', 'The producer is closed and takes no more records');
}
