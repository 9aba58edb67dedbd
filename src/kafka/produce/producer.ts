import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { PostriderError } from '../../errors.ts';
import { withAdmin } from '../admin.ts';
import type { KafkaClient } from '../bare-client.ts';
import { ProduceConnection, type Compression } from './produce-connection.ts';
import { backoffMs, failureOf } from './produce-failure.ts';
import { ProducerQueues, type ProducerHooks } from './producer-queues.ts';
import type { OutgoingRecord } from '../record.ts';

export type { ProducerHooks } from './producer-queues.ts';

/**
 * Writes records so that none is lost: each is repeated, for as long as it takes, until every in-sync
 * replica has it. Records of one partition are written in the order in which they were given, and some
 * may be written twice. Nothing bounds what waits: whoever gives records watches `queuedRecords` or
 * waits for `done`.
 */
export interface Producer {
  /**
   * Queues and returns at once. `done` is called exactly once, and never before this returns: without an
   * argument when every in-sync replica has the record, with a `record-refused` error when it can never
   * be written (too large, invalid). After a close that did not wait long enough it is not called.
   * @throws PostriderError `stopped` after `close`
   */
  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void;
  /**
   * Resolves when all are acknowledged. Otherwise, once all are settled, rejects with the first
   * `record-refused`, or with `stopped` when the producer closes before.
   */
  send(records: readonly OutgoingRecord[]): Promise<void>;
  /** Looked up once and again every five minutes. Waits while Kafka is away or the topic missing. */
  partitionCount(topic: string): Promise<number>;
  /** Given and neither acknowledged nor refused yet. */
  readonly queuedRecords: number;
  readonly queuedBytes: number;
  /** Waits for everything queued, but no longer than `timeoutMs`, then disconnects. */
  close(timeoutMs: number): Promise<void>;
}

export interface ProducerOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  readonly hooks?: ProducerHooks;
  /** Default `lz4-or-zstd`, by size. */
  readonly compression?: Compression;
  /** Ends the waiting for Kafka: the promise then rejects. */
  readonly signal?: AbortSignal;
}

/** Resolves once Kafka has been reached; until then it tries again, and says so in the log. */
export async function createProducer(
  kafka: KafkaClient,
  options: ProducerOptions,
): Promise<Producer> {
  const { log, clock = systemClock, hooks = {}, compression, signal } = options;
  const connection = new ProduceConnection(kafka, clock, compression);
  for (let failures = 1; ; failures += 1) {
    try {
      await connection.connect();
      break;
    } catch (error) {
      const { message, reason } = failureOf(error);
      log.warn({ reason, failures }, `Kafka cannot be reached, trying again: ${message}`);
      await delay(backoffMs(failures), undefined, { signal });
    }
  }
  const queues = new ProducerQueues({
    call: (batch) => connection.call(batch),
    countPartitions: (topic) => withAdmin(kafka, (admin) => admin.partitionCount(topic)),
    pause: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => undefined);
    },
    ...{ clock, log, hooks },
  });
  return {
    produce: (record, done) => {
      queues.add(record, done);
    },
    send: (records) => queues.addAll(records),
    partitionCount: (topic) => queues.partitionCount(topic),
    get queuedRecords() {
      return queues.records;
    },
    get queuedBytes() {
      return queues.bytes;
    },
    close: async (timeoutMs) => {
      await queues.close(timeoutMs);
      connection.close();
    },
  };
}
