import type { Message, Producer, RecordMetadata, Transaction } from 'kafkajs';
import { PostriderError } from '../../errors.ts';
import { adminError, failureOf } from '../failure.ts';
import type { KafkaClient } from '../client.ts';
import { kafkajs } from '../kafkajs/library.ts';
import type { OutgoingRecord } from '../record.ts';
import { judgeAnswer } from './judge-answer.ts';

/** A record whose partition is decided. */
export interface PlacedRecord extends OutgoingRecord {
  readonly partition: number;
}

/** By {@link placeName}: one past the last record that was written there. */
export type Written = ReadonlyMap<string, number>;

/** Writes with one transactional id, one transaction at a time. After an error it cannot be used anymore. */
export interface Transactions {
  /**
   * Resolves once all of the records are committed. After an error, a reader of committed records sees all of
   * them or none. At most 900 KB of one partition.
   * @throws PostriderError `fenced` when another process writes with this id now, `record-refused`,
   * `kafka-refused`, `kafka-unavailable`
   */
  write(records: readonly PlacedRecord[]): Promise<Written>;
  close(): Promise<void>;
}

/**
 * The time that one transaction may take, and for which an open one may hold up the readers of its topics after its
 * process is gone.
 */
const transactionTimeoutMs = 10_000;
/** The part of that time for the brokers, to replicate the records to all in-sync replicas. */
const ackTimeoutMs = 8_000;
/**
 * 8 s in all. Kafka refuses a transaction that begins while the previous one is still being committed, which
 * takes milliseconds. With kafkajs's default for the first wait, each transaction would cost a fifth of a
 * second.
 */
const retry = { initialRetryTime: 20, maxRetryTime: 1_000, retries: 12 };
/** kafkajs waits without end for a broker that hangs. */
const answerTimeoutMs = 60_000;

/**
 * Once this resolves, earlier writers with this id cannot commit anything, and what they left open is
 * aborted. kafkajs fences only when a transaction begins, so one is begun here.
 * @throws PostriderError `kafka-unavailable`, `kafka-refused`
 */
export async function openTransactions(
  kafka: KafkaClient,
  transactionalId: string,
): Promise<Transactions> {
  const producer = kafka.producer({
    transactionalId,
    transactionTimeout: transactionTimeoutMs,
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
    retry,
  });
  const transactions = new ProducerTransactions(producer);
  try {
    await transactions.fence();
  } catch (error) {
    await transactions.close();
    throw error;
  }
  return transactions;
}

/** A partition's name in {@link Written}. */
export function placeName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

class ProducerTransactions implements Transactions {
  readonly #producer: Producer;

  constructor(producer: Producer) {
    this.#producer = producer;
  }

  async fence(): Promise<void> {
    await settled(async () => {
      await this.#producer.connect();
      const empty = await this.#producer.transaction();
      await empty.abort();
    });
  }

  /**
   * Nothing is repeated here after a failure. Records that kafkajs sent without an answer may be in the log,
   * and kafkajs gives the next records the same sequence numbers: Kafka would treat them as repetitions and
   * drop them.
   */
  async write(records: readonly PlacedRecord[]): Promise<Written> {
    return settled(async () => {
      const transaction = await this.#producer.transaction();
      const written = await send(transaction, records).catch(async (error: unknown) => {
        await transaction.abort().catch(() => undefined);
        throw error;
      });
      await transaction.commit();
      return written;
    });
  }

  async close(): Promise<void> {
    await this.#producer.disconnect().catch(() => undefined);
  }
}

async function send(transaction: Transaction, records: readonly PlacedRecord[]): Promise<Written> {
  const answer = await transaction.sendBatch({
    acks: -1,
    timeout: ackTimeoutMs,
    compression: kafkajs.CompressionTypes.ZSTD,
    topicMessages: topicMessages(records),
  });
  return writtenBy(records, answer);
}

function topicMessages(
  records: readonly PlacedRecord[],
): { readonly topic: string; readonly messages: Message[] }[] {
  const topics = new Map<string, Message[]>();
  for (const record of records) {
    const messages = topics.get(record.topic);
    if (messages === undefined) topics.set(record.topic, [messageOf(record)]);
    else messages.push(messageOf(record));
  }
  return Array.from(topics, ([topic, messages]) => ({ topic, messages: grouped(messages) }));
}

/**
 * kafkajs sorts records into partitions with `reduce`, and copies a partition's list for each record that is
 * added, which is slow for thousands of records. Here they are sorted in one pass.
 */
function grouped(messages: Message[]): Message[] {
  const byPartition = (): Record<number, Message[]> => {
    const groups: Record<number, Message[]> = {};
    for (const message of messages) (groups[message.partition ?? 0] ??= []).push(message);
    return groups;
  };
  return Object.defineProperty(messages, 'reduce', { value: byPartition });
}

function messageOf({ key, value, headers, partition }: PlacedRecord): Message {
  return { key, value, partition, ...(headers === undefined ? {} : { headers }) };
}

/** kafkajs silently leaves out partitions that its metadata does not have. */
function writtenBy(records: readonly PlacedRecord[], answer: readonly RecordMetadata[]): Written {
  // By topic and partition: building a name for each of thousands of records would cost more than the
  // counting.
  const counts = new Map<string, number[]>();
  for (const { topic, partition } of records) {
    const ofTopic = counts.get(topic) ?? [];
    if (ofTopic.length === 0) counts.set(topic, ofTopic);
    ofTopic[partition] = (ofTopic[partition] ?? 0) + 1;
  }
  const first = new Map(
    answer.map(({ topicName, partition, baseOffset }) => [
      placeName(topicName, partition),
      Number(baseOffset),
    ]),
  );
  const written = new Map<string, number>();
  for (const [topic, ofTopic] of counts) {
    ofTopic.forEach((count, partition) => {
      const name = placeName(topic, partition);
      const start = first.get(name);
      if (start === undefined) throw unavailable(`no answer for ${name}`);
      written.set(name, start + count);
    });
  }
  return written;
}

/** Kafka's answers to a producer that another one with its id has replaced, or that took too long. */
const fencing = new Set([
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
  'INVALID_TXN_STATE',
  'UNKNOWN_PRODUCER_ID',
]);

async function settled<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(unavailable(`no answer within ${answerTimeoutMs / 1_000} s`));
    }, answerTimeoutMs);
  });
  try {
    return await Promise.race([work(), deadline]);
  } catch (error) {
    throw transactionError(error);
  } finally {
    clearTimeout(timer);
  }
}

function transactionError(error: unknown): PostriderError {
  if (error instanceof PostriderError) return error;
  const { reason, message } = failureOf(error);
  if (fencing.has(reason))
    return new PostriderError(
      'fenced',
      `another process writes with this transactional id now, or a transaction took longer than ${transactionTimeoutMs / 1_000} s`,
      { cause: error },
    );
  if (judgeAnswer(reason) === 'condemned')
    return new PostriderError('record-refused', `Kafka refused a record: ${message}`, {
      cause: error,
    });
  return adminError(error);
}

function unavailable(what: string): PostriderError {
  return new PostriderError('kafka-unavailable', `Kafka did not write a transaction: ${what}`);
}
