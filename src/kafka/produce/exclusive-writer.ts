import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import type { KafkaCluster } from '../cluster/cluster.ts';
import type { TopicMetadata } from '../cluster/latest-metadata.ts';
import { failureNamed, failureOf, rightBehind, type KafkaFailure } from '../failure.ts';
import { encodeBatch, type BatchRecord } from '../protocol/batch-writer.ts';
import type { Compressor } from '../protocol/compressor.ts';
import type { ProducedPartition, ProducerIdentity } from '../protocol/produce.ts';
import { backoffMs } from '../retrying.ts';
import { judgeAnswer } from './judge-answer.ts';

export interface ExclusiveWriterOptions {
  /** A topic with one partition. */
  readonly topic: string;
  /** The id that all writers of the topic name, and that Kafka lets one of them have at a time. */
  readonly transactionalId: string;
}

type WriterCluster = Pick<
  KafkaCluster,
  'topic' | 'refreshInTurn' | 'produce' | 'fencingProducerId' | 'close'
>;

export interface ExclusiveWriterClient {
  readonly compressor: Compressor;
  openCluster(): WriterCluster;
}

/** The key of the record with which a writer begins. A header of each record names its writer. */
export const claimKey = 'writer';
const headerName = 'writer';

/**
 * Kafka forgets what a producer wrote where nothing is heard of it for long, one day by default, and with it the epoch
 * below which it refuses. Whoever was silent for this long claims the topic anew.
 */
const silentMs = 60_000;
/** Commands wait as long for Kafka. */
const patienceMs = 10_000;
const ackTimeoutMs = 8_000;
/** Brokers take up to a megabyte by default. */
const batchBytes = 512 * 1024;
/** No epoch is above it, so it fences an id for good. */
const lastEpoch = 2 ** 15 - 1;

const partition = 0;

function leaderOf(topic: TopicMetadata | undefined): number {
  const [first] = topic?.partitions ?? [];
  return first?.leader ?? -1;
}

/**
 * The one writer of a topic. Whoever claims the topic gets a higher epoch of the same producer id, and from its first
 * record on, the partition's leader refuses every batch of earlier writers, whatever these believe. Between two records
 * of a writer there is thus none of another one: what was decided on all that the topic had before is right when it
 * is written. Needs no transactions, so readers wait for nothing.
 */
export class ExclusiveWriter {
  readonly #cluster: WriterCluster;
  readonly #compressor: Compressor;
  readonly #options: ExclusiveWriterOptions;
  #identity: ProducerIdentity | undefined;
  #nextSequence = 0;
  #heardMs = -Infinity;

  constructor(client: ExclusiveWriterClient, options: ExclusiveWriterOptions) {
    this.#cluster = client.openCluster();
    this.#compressor = client.compressor;
    this.#options = options;
  }

  /** Says whether this is the process that has claimed the topic under this identity. */
  is({ id, epoch }: ProducerIdentity): boolean {
    return this.#identity?.id === id && this.#identity.epoch === epoch;
  }

  /** False: others may have written, so the topic has to be claimed, and read to the claim, before the next record. */
  get holds(): boolean {
    return this.#identity !== undefined && performance.now() - this.#heardMs < silentMs;
  }

  /**
   * Resolves to the offset of the claim: behind it, there are only records of this writer until another one claims.
   * @param former the writer of the topic's newest record. Its producer id is another one than this writer's where Kafka
   * has forgotten the transactional id, or its epochs are used up; then it is fenced by its own id
   * @throws PostriderError `fenced` if another one has claimed meanwhile, `kafka-refused`, `kafka-unavailable`
   */
  async claim(former: ProducerIdentity | undefined): Promise<number> {
    this.#identity = undefined;
    const identity = await this.#identify();
    if (former !== undefined && former.id !== identity.id) {
      const last = { id: former.id, epoch: lastEpoch };
      await this.#produce(last, 0, [claimOf(last)]);
    }
    const offset = await this.#produce(identity, 0, [claimOf(identity)]);
    this.#identity = identity;
    this.#nextSequence = 1;
    return offset;
  }

  /**
   * Resolves to one past the offset of the last record, when every in-sync replica has all of them.
   * @throws PostriderError `fenced` if another writer has claimed the topic, so that this and what follows was not
   * written; `kafka-unavailable`: nobody knows whether it was; `record-refused`, `kafka-refused`
   */
  async append(records: readonly BatchRecord[]): Promise<number> {
    const identity = this.#identity;
    if (identity === undefined) throw fenced();
    let end = -1;
    for (const batch of batchesOf(records, identity)) {
      const offset = await this.#produce(identity, this.#nextSequence, batch);
      this.#nextSequence += batch.length;
      end = offset + batch.length;
    }
    return end;
  }

  close(): void {
    this.#cluster.close();
  }

  /** Whatever ends it, it is no longer known what the topic has, except after success. */
  async #produce(
    identity: ProducerIdentity,
    sequence: number,
    records: readonly BatchRecord[],
  ): Promise<number> {
    const { topic } = this.#options;
    const origin = { producerId: identity.id, epoch: identity.epoch, sequence };
    const batch = encodeBatch(records, origin, this.#compressor, Date.now());
    const topics = [{ topic, partitions: [{ partition, batch }] }];
    let attempts = 0;
    try {
      return await this.#insist(topic, async () => {
        const leader = await this.#leader();
        attempts += 1;
        const [answer] = await this.#cluster.produce(leader, { timeoutMs: ackTimeoutMs, topics });
        if (answer === undefined) return failureNamed('PartitionUnanswered');
        const { error, message } = answer;
        const verdict = judgeAnswer(error);
        if (verdict === 'written') return this.#offsetOf(answer);
        const failure = failureNamed(error, message);
        // An attempt before may have arrived without its answer.
        if (superseded.has(error)) throw attempts > 1 ? uncertain(failure) : fenced();
        if (verdict === 'condemned') throw refused(topic, failure);
        return failure;
      });
    } catch (error) {
      this.#identity = undefined;
      throw error;
    }
  }

  /** A repetition whose first answer was lost may be confirmed without its place. */
  #offsetOf({ baseOffset, error }: ProducedPartition): number {
    this.#heardMs = performance.now();
    if (baseOffset < 0) throw uncertain(failureNamed(error));
    return baseOffset;
  }

  async #leader(): Promise<number> {
    const { topic } = this.#options;
    const known = leaderOf(this.#cluster.topic(topic));
    if (known >= 0) return known;
    await this.#cluster.refreshInTurn([topic]);
    return leaderOf(this.#cluster.topic(topic));
  }

  async #identify(): Promise<ProducerIdentity> {
    const { transactionalId } = this.#options;
    return this.#insist(transactionalId, () => this.#cluster.fencingProducerId(transactionalId));
  }

  /**
   * Repeats it until it succeeds, or Kafka has been away for too long.
   * @param attempt returns why it failed, or throws it
   */
  async #insist<T extends number | object>(
    about: string,
    attempt: () => Promise<T | KafkaFailure>,
  ): Promise<T> {
    const untilMs = performance.now() + patienceMs;
    for (let failures = 1; ; failures += 1) {
      let failure: KafkaFailure;
      try {
        const answer = await attempt();
        if (!isFailure(answer)) return answer;
        failure = answer;
      } catch (error) {
        if (error instanceof PostriderError) throw error;
        failure = failureOf(error);
      }
      const right = rightBehind(failure, about);
      if (right !== undefined) throw new PostriderError('kafka-refused', right);
      if (performance.now() > untilMs) throw uncertain(failure);
      await delay(backoffMs(failures));
      await this.#cluster.refreshInTurn([this.#options.topic]).catch(() => undefined);
    }
  }
}

/** Kafka's answers to a producer that another one with its id has replaced, or whose numbers the partition does not know. */
const superseded = new Set<string>([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'UNKNOWN_PRODUCER_ID',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
]);

/** A tombstone, which former releases take for one of a resource of a kind that they do not know. */
function claimOf(identity: ProducerIdentity): BatchRecord {
  return { key: claimKey, value: null, headers: headersOf(identity) };
}

function headersOf({ id, epoch }: ProducerIdentity): Readonly<Record<string, string>> {
  return { [headerName]: `${id}.${epoch}` };
}

/** The writer of a record; undefined: it was no exclusive one. */
export function writerOf(
  headers: Readonly<Record<string, Buffer | undefined>>,
): ProducerIdentity | undefined {
  const [, id, epoch] = /^(\d{1,15})\.(\d{1,5})$/.exec(String(headers[headerName])) ?? [];
  return id === undefined ? undefined : { id: Number(id), epoch: Number(epoch) };
}

function* batchesOf(
  records: readonly BatchRecord[],
  identity: ProducerIdentity,
): Generator<BatchRecord[]> {
  const headers = headersOf(identity);
  let batch: BatchRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const more = (record.key?.length ?? 0) + (record.value?.length ?? 0);
    if (batch.length > 0 && bytes + more > batchBytes) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push({ ...record, headers });
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}

function isFailure(answer: object | number): answer is KafkaFailure {
  return typeof answer === 'object' && 'reason' in answer;
}

function fenced(): PostriderError {
  return new PostriderError('fenced', 'another process writes to this topic now');
}

function uncertain({ message }: KafkaFailure): PostriderError {
  return new PostriderError(
    'kafka-unavailable',
    `Kafka has not confirmed the change, which may be in force or not; repeat it (${message})`,
  );
}

function refused(topic: string, { message }: KafkaFailure): PostriderError {
  return new PostriderError(
    'record-refused',
    `Kafka refused a record for topic ${topic}: ${message}`,
  );
}
