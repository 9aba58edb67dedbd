import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import { PostriderError } from '../errors.ts';
import { adminError } from './admin-error.ts';
import { withAdmin, type OffsetRange } from './admin.ts';
import type { KafkaClient } from './client.ts';
import { incomingRecord } from './consume/incoming-record.ts';
import type { FetchedBatch } from './kafkajs/fetched-batch.ts';
import type { FetchedBatches } from './kafkajs/fetched-batches.ts';
import type { IncomingRecord } from './record.ts';

export interface ReadRangeOptions {
  readonly topic: string;
  /** What to read: as from `KafkaAdmin.offsets`, or narrower. `end` is not read. */
  readonly ranges: readonly OffsetRange[];
  /** Default 4 MB; less where small records compress so well that as many bytes are too many objects. */
  readonly maxFetchBytes?: number;
}

/** Less than a consumer takes: only one part of a fetch is being worked on, and nobody is in a hurry. */
const defaultMaxFetchBytes = 4 * 1024 * 1024;
/** kafkajs's own default. */
const maxPartitionBytes = 1024 * 1024;
const heartbeatMs = 1_000;
/** After so long without a record, see whether what is missing still exists. */
const idleMs = 2_000;

/**
 * Every record of the ranges once, each partition in its order, as fast as the caller takes them and no
 * faster: at most one fetch is in memory. What retention has removed is left out. Nothing is committed;
 * the group, which kafkajs cannot do without, has a random name behind the topic's.
 * @throws PostriderError `kafka-unavailable`, `not-found`, `kafka-refused`; `input-invalid` for a batch that cannot be read
 */
export async function* readRange(
  kafka: KafkaClient,
  options: ReadRangeOptions,
): AsyncGenerator<IncomingRecord, void, undefined> {
  const reader = new RangeReader(kafka, options);
  try {
    await reader.start();
    for (;;) {
      const records = await reader.next();
      if (records === undefined) return;
      yield* records;
    }
  } finally {
    await reader.stop();
  }
}

class RangeReader {
  readonly #kafka: KafkaClient;
  readonly #topic: string;
  readonly #consumer: Consumer;
  /** By partition, until its end is reached. */
  readonly #open = new Map<number, { position: number; readonly end: number }>();
  /** What eachBatch has handed over; it waits until that is worked off. */
  #records: IncomingRecord[] | undefined;
  #error: Error | undefined;
  #isStopped = false;
  /** Wakes whoever waits: eachBatch for an empty place, `next` for a full one. */
  #changed = Promise.withResolvers<undefined>();

  constructor(
    kafka: KafkaClient,
    { topic, ranges, maxFetchBytes = defaultMaxFetchBytes }: ReadRangeOptions,
  ) {
    this.#kafka = kafka;
    this.#topic = topic;
    for (const { partition, start, end } of ranges) {
      if (start < end) this.#open.set(partition, { position: start, end });
    }
    this.#consumer = kafka.consumer({
      groupId: `${topic}.read-${randomBytes(8).toString('hex')}`,
      allowAutoTopicCreation: false,
      heartbeatInterval: heartbeatMs,
      maxWaitTimeInMs: 200,
      maxBytes: maxFetchBytes,
      maxBytesPerPartition: Math.min(maxFetchBytes, maxPartitionBytes),
    });
  }

  async start(): Promise<void> {
    if (this.#open.size === 0) return;
    const consumer = this.#consumer;
    const { events } = consumer;
    consumer.on(events.GROUP_JOIN, () => {
      for (const [partition, { position }] of this.#open) {
        consumer.seek({ topic: this.#topic, partition, offset: String(position) });
      }
    });
    consumer.on(events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) this.#fail(adminError(error, this.#topic));
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topic: this.#topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async (payload) => {
          const { batches } = payload.batch as unknown as FetchedBatches;
          for (const batch of batches) await this.#handOver(batch, () => payload.heartbeat());
        },
      });
    } catch (error) {
      throw adminError(error, this.#topic);
    }
  }

  /** The next records, none of them empty; undefined at the end. */
  async next(): Promise<IncomingRecord[] | undefined> {
    this.#records = undefined;
    this.#wake();
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const records = this.#handedOver();
      if (records !== undefined || this.#open.size === 0) return records;
      if (await this.#isUnchangedFor(idleMs)) await this.#leaveOutRemoved();
    }
  }

  #handedOver(): IncomingRecord[] | undefined {
    return this.#records;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake();
    await this.#consumer.disconnect();
  }

  async #handOver(batch: FetchedBatch, heartbeat: () => Promise<void>): Promise<void> {
    if (batch.problem !== undefined) {
      this.#fail(unreadable(batch, batch.problem));
      return;
    }
    const range = this.#open.get(batch.partition);
    const records: IncomingRecord[] = [];
    if (range !== undefined) {
      for (const message of batch.messages) {
        const { offsetNumber } = message;
        // Before a seek takes effect, kafkajs may bring what was read already, or never asked for.
        if (offsetNumber < range.position || offsetNumber >= range.end) continue;
        records.push(incomingRecord(batch.topic, batch.partition, message));
      }
    }
    while (this.#records !== undefined && !this.#isStopped) {
      await this.#isUnchangedFor(heartbeatMs);
      await heartbeat();
    }
    if (this.#isStopped) return;
    if (records.length > 0) this.#records = records;
    this.#passed(batch.partition, batch.lastOffset + 1);
    batch.resolve();
    this.#wake();
  }

  /** Whether nothing changed for so long. */
  async #isUnchangedFor(ms: number): Promise<boolean> {
    const timer = new AbortController();
    const timeout = delay(ms, true, { signal: timer.signal }).catch(() => false);
    const isUnchanged = await Promise.race([this.#changed.promise, timeout]);
    timer.abort();
    return isUnchanged ?? false;
  }

  #passed(partition: number, position: number): void {
    const range = this.#open.get(partition);
    if (range === undefined) return;
    range.position = Math.max(range.position, position);
    if (range.position < range.end) return;
    this.#open.delete(partition);
    this.#consumer.pause([{ topic: this.#topic, partitions: [partition] }]);
    this.#wake();
  }

  async #leaveOutRemoved(): Promise<void> {
    const kept = await withAdmin(this.#kafka, (admin) => admin.offsets(this.#topic));
    for (const { partition, start } of kept) this.#passed(partition, start);
  }

  #fail(error: Error): void {
    this.#error = error;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers<undefined>();
  }
}

function unreadable({ topic, partition, fetchedOffset }: FetchedBatch, cause: Error): Error {
  const where = `partition ${partition} of ${topic} at offset ${fetchedOffset}`;
  return new PostriderError('input-invalid', `the records of ${where} cannot be read`, { cause });
}
