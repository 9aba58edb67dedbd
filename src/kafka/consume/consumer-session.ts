import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Consumer, PartitionAssigner } from 'kafkajs';
import type { Logger } from '../../ops/log.ts';
import { waitAtMost } from '../../ops/wait-at-most.ts';
import type { KafkaClient } from '../client.ts';
import type { FetchedBatch } from '../kafkajs/fetched-batch.ts';
import type { FetchedBatches } from '../kafkajs/fetched-batches.ts';
import { reasonOf } from '../keep-trying.ts';
import { Pace } from '../pace.ts';
import type { TopicPartition } from '../record.ts';

export interface SessionOptions {
  readonly groupId: string;
  readonly maxBytesPerPartition: number;
  readonly log: Logger;
  /** How long a fetch waits for something to read. Default 100 ms. */
  readonly maxWaitMs?: number | undefined;
  readonly assigner?: PartitionAssigner;
}

export interface PartitionOffset extends TopicPartition {
  readonly offset: number;
}

/** All are called synchronously from inside kafkajs: they must neither wait nor throw. */
export interface SessionEvents {
  /** Before kafkajs fetches anything with the new assignment. */
  joined(assignment: readonly TopicPartition[]): void;
  /** This member still owns its partitions, for the time of one commit. */
  rebalancing?(): void;
  /** Read again unless it is resolved. */
  batch(batch: FetchedBatch): void;
  /** A fetch from this broker begins: all that the one before it brought has been handed over. */
  fetching?(nodeId: number): void;
  committed?(offsets: readonly PartitionOffset[]): void;
  unsubscribedTopics?(topics: readonly string[]): void;
  /** `restart`: kafkajs starts again by itself. */
  crashed(error: Error, restart: boolean): void;
}

/** With a heartbeat a second, the partitions of a killed process have a new owner in about 10 s. */
const sessionTimeout = 10_000;
const heartbeatInterval = 1_000;
/** A resumed partition waits for the long poll that runs without it; an idle consumer polls this often. */
const defaultMaxWaitMs = 100;
/** 2.5 s in all, during which kafkajs sends no heartbeat. */
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 };

/** How long a consumer that is just opening may take before it is cut off. */
const openMs = 3_000;

/** One kafkajs consumer, from connecting to leaving the group. Topics cannot be added or removed. */
export class ConsumerSession {
  readonly #consumer: Consumer;
  readonly #events: SessionEvents;
  readonly #pace = new Pace();
  readonly #log: Logger;
  #closed = false;
  #opening: Promise<void> | undefined;

  constructor(kafka: KafkaClient, options: SessionOptions, events: SessionEvents) {
    this.#events = events;
    this.#log = options.log;
    this.#consumer = kafka.consumer({
      groupId: options.groupId,
      maxBytesPerPartition: options.maxBytesPerPartition,
      sessionTimeout,
      heartbeatInterval,
      maxWaitTimeInMs: options.maxWaitMs ?? defaultMaxWaitMs,
      // A topic that was deleted must not come back with the broker's default settings.
      allowAutoTopicCreation: false,
      retry: { ...retry, restartOnFailure: () => Promise.resolve(!this.#closed) },
      ...(options.assigner === undefined ? {} : { partitionAssigners: [options.assigner] }),
    });
    this.#listen();
  }

  /** Throws when Kafka is away or a topic unknown. What goes wrong later is a `crashed` event. */
  async open(topics: readonly string[]): Promise<void> {
    this.#opening = this.#run(topics);
    await this.#opening.finally(() => {
      this.#opening = undefined;
    });
  }

  async #run(topics: readonly string[]): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      // kafkajs's position moves only past batches that were accepted.
      eachBatchAutoResolve: false,
      // Waits for nobody but a turn: kafkajs fetches again only when this has returned, and sends no
      // heartbeat meanwhile.
      eachBatch: ({ batch }) => this.#handOver(batch as unknown as FetchedBatches),
    });
  }

  async #handOver({ batches }: FetchedBatches): Promise<void> {
    for (const batch of batches) {
      if (this.#closed) return;
      if (batch.problem === undefined) this.#events.batch(batch);
      else this.#tellStuck(batch);
      if (this.#pace.isPauseDue(batch.messages.length)) await nextTurn();
    }
  }

  /** As often as it is tried again, which is seldom. */
  #tellStuck({ topic, partition, fetchedOffset: offset, problem }: FetchedBatch): void {
    this.#log.error(
      { topic, partition, offset, reason: reasonOf(problem) },
      'a batch of records cannot be read; its partition stops before it, all others go on',
    );
  }

  seek({ topic, partition }: TopicPartition, offset: number): void {
    this.#act(() => {
      this.#consumer.seek({ topic, partition, offset: String(offset) });
    });
  }

  pause({ topic, partition }: TopicPartition): void {
    this.#act(() => {
      this.#consumer.pause([{ topic, partitions: [partition] }]);
    });
  }

  resume({ topic, partition }: TopicPartition): void {
    this.#act(() => {
      this.#consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  /**
   * Only a `committed` event says that it happened: kafkajs returns without a word when it is not
   * running.
   */
  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#consumer.commitOffsets(
      offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A consumer that is just connecting cannot be stopped: disconnected now, it would connect again.
    const opened = this.#opening?.catch(() => undefined);
    await waitAtMost(openMs, opened);
    await this.#disconnect();
  }

  #listen(): void {
    const consumer = this.#consumer;
    const events = this.#events;
    const names = consumer.events;
    consumer.on(names.GROUP_JOIN, ({ payload }) => {
      if (this.#closed) {
        // It was connecting when it was cut off. It can be stopped now.
        setImmediate(() => void this.#disconnect());
        return;
      }
      events.joined(
        Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
          partitions.map((partition) => ({ topic, partition })),
        ),
      );
    });
    consumer.on(names.REBALANCING, () => {
      if (!this.#closed) events.rebalancing?.();
    });
    if (events.fetching !== undefined) {
      consumer.on(names.FETCH_START, ({ payload }) => {
        if (!this.#closed) events.fetching?.(payload.nodeId);
      });
    }
    consumer.on(names.COMMIT_OFFSETS, ({ payload }) => {
      events.committed?.(
        payload.topics.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) })),
        ),
      );
    });
    consumer.on(names.RECEIVED_UNSUBSCRIBED_TOPICS, ({ payload }) => {
      if (!this.#closed) events.unsubscribedTopics?.(payload.topicsNotSubscribed);
    });
    consumer.on(names.CRASH, ({ payload }) => {
      if (!this.#closed) events.crashed(payload.error, payload.restart);
    });
  }

  /** kafkajs has no group between a crash and its restart; the join after it sets everything anew. */
  #act(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#log.debug({ reason: reasonOf(error) }, 'the consumer is not running');
    }
  }

  async #disconnect(): Promise<void> {
    await this.#consumer.disconnect().catch((error: unknown) => {
      this.#log.debug({ reason: reasonOf(error) }, 'the consumer did not disconnect cleanly');
    });
  }
}

/** Crashes that kafkajs takes for final although a new session may succeed: tulios/kafkajs#1445. */
const passing = new Set(['KafkaJSGroupCoordinatorNotFound', 'KafkaJSLockTimeout']);

export function isPassing(error: Error): boolean {
  return passing.has(error.name) || (error.cause instanceof Error && isPassing(error.cause));
}

/** A subscribed topic is gone. kafkajs would start again for ever, and read no other topic meanwhile. */
export function isUnknownTopic(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { type } = error as { type?: unknown };
  return type === 'UNKNOWN_TOPIC_OR_PARTITION' || isUnknownTopic(error.cause);
}
