import type { CompressionTypes, Message, Producer as KafkaProducer, RecordMetadata } from 'kafkajs';
import type { Clock } from '../../ops/clock.ts';
import { kafkajs } from '../kafkajs/library.ts';
import { topicsOf, type Batch } from './batch.ts';
import type { KafkaClient } from '../bare-client.ts';
import { failureOf } from './produce-failure.ts';

/** How long the brokers may take to get a batch onto all in-sync replicas. */
const ackTimeoutMs = 15_000;
/** Longer than a request, a reconnect or a metadata refresh of kafkajs may take. */
const answerTimeoutMs = 45_000;
/**
 * kafkajs asks for the metadata of all topics that it ever wrote to in one request, which fails as a
 * whole once one of them is deleted. A new producer knows only the topics that are in use.
 */
const failuresBeforeReconnect = 3;
/** How soon such a request is made, and a leader that moved in silence is noticed. */
const metadataMaxAgeMs = 60_000;

/** kafkajs brings gzip itself; for the others the client has to have our codecs. */
export type Compression = 'lz4-or-zstd' | 'gzip';

/**
 * Smaller ones cost zstd about 70 µs each to compress and 35 µs to read, for memory that it sets up and
 * throws away, LZ4 5 and 10 µs. Of larger ones zstd makes half as many bytes in less time.
 */
const zstdFromBytes = 16 * 1024;

interface Connection {
  readonly producer: KafkaProducer;
  readonly connected: Promise<void>;
  calls: number;
  failuresInARow: number;
  isReplaced: boolean;
}

/**
 * Calls Kafka through kafkajs, without kafkajs's own retries: after one of two brokers has failed, they
 * skip the broker that answered, and resolve without having sent a partition that moved to it.
 */
export class ProduceConnection {
  readonly #kafka: KafkaClient;
  readonly #clock: Clock;
  readonly #compression: Compression;
  #current: Connection | undefined;

  constructor(kafka: KafkaClient, clock: Clock, compression: Compression = 'lz4-or-zstd') {
    this.#kafka = kafka;
    this.#clock = clock;
    this.#compression = compression;
  }

  async connect(): Promise<void> {
    await this.#use(({ connected }) => connected);
  }

  /**
   * Resolves only when the answer names every partition of the batch; kafkajs leaves partitions out
   * that its metadata does not know, without a word.
   */
  async call(batch: Batch): Promise<void> {
    await this.#use(async ({ producer, connected }) => {
      await connected;
      const answer = await producer.sendBatch({
        acks: -1,
        timeout: ackTimeoutMs,
        compression: compressionOf(batch, this.#compression),
        topicMessages: topicMessages(batch),
      });
      const missing = firstUnanswered(batch, answer);
      if (missing !== undefined) throw named('PartitionUnanswered', `no answer for ${missing}`);
    });
  }

  close(): void {
    if (this.#current !== undefined) abandon(this.#current);
    this.#current = undefined;
  }

  async #use(work: (connection: Connection) => Promise<void>): Promise<void> {
    const connection = (this.#current ??= this.#open());
    connection.calls += 1;
    try {
      await this.#withDeadline(work(connection));
      connection.failuresInARow = 0;
    } catch (error) {
      const { condemns, needsReconnect } = failureOf(error);
      if (!condemns) connection.failuresInARow += 1;
      if (needsReconnect || connection.failuresInARow >= failuresBeforeReconnect)
        this.#replace(connection);
      throw error;
    } finally {
      connection.calls -= 1;
      if (connection.isReplaced && connection.calls === 0) abandon(connection);
    }
  }

  #open(): Connection {
    const producer = this.#kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
      metadataMaxAge: metadataMaxAgeMs,
      retry: { retries: 0 },
    });
    const connected = producer.connect();
    const connection = { producer, connected, calls: 0, failuresInARow: 0, isReplaced: false };
    connected.catch(() => {
      this.#replace(connection);
    });
    return connection;
  }

  #replace(connection: Connection): void {
    connection.isReplaced = true;
    if (this.#current === connection) this.#current = undefined;
  }

  /**
   * kafkajs waits for ever when a broker hangs while its connection is being closed: nobody checks the
   * requests' own timeouts any more, and the metadata refresh waits for them.
   */
  async #withDeadline(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(answerTimeoutMs, () => {
        reject(named('NoAnswer', `Kafka did not answer within ${answerTimeoutMs / 1000} s`));
      });
      void work.then(resolve, reject).finally(() => {
        timer.cancel();
      });
    });
  }
}

/** Closing may wait for ever for a broker that hangs, and concerns nobody any more. */
function abandon({ producer }: Connection): void {
  producer.disconnect().catch(() => undefined);
}

function compressionOf(batch: Batch, compression: Compression): CompressionTypes {
  if (compression === 'gzip') return kafkajs.CompressionTypes.GZIP;
  const bytes = batch.reduce((sum, slice) => sum + slice.bytes, 0);
  const { LZ4, ZSTD } = kafkajs.CompressionTypes;
  return bytes < batch.length * zstdFromBytes ? LZ4 : ZSTD;
}

function topicMessages(batch: Batch): { topic: string; messages: Message[] }[] {
  return topicsOf(batch).map((topic) => ({
    topic,
    messages: batch.flatMap(({ queue, records }) => (queue.topic === topic ? records : [])),
  }));
}

function firstUnanswered(batch: Batch, answer: readonly RecordMetadata[]): string | undefined {
  const answered = new Set(answer.map(({ topicName, partition }) => `${topicName}/${partition}`));
  return batch
    .map(({ queue }) => `${queue.topic}/${queue.partition}`)
    .find((name) => !answered.has(name));
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
