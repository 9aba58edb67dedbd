import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import type { TopicMetadata } from '../../../src/kafka/cluster/latest-metadata.ts';
import type { ProducerCluster } from '../../../src/kafka/cluster/writing-cluster.ts';
import type { ProducerClient } from '../../../src/kafka/produce/producer.ts';
import type { Compressor } from '../../../src/kafka/protocol/compressor.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type {
  ProducedPartition,
  ProduceRequest,
  ProducerIdentity,
} from '../../../src/kafka/protocol/produce.ts';
import type { Appended } from '../../harness/kafka/log.ts';
import { FakeLog } from '../fake-log.ts';
import { uncompressed } from '../uncompressed.ts';

const require = createRequire(import.meta.url);
const theirCrc32c = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

/** A record batch, as kafkajs reads it. */
export interface ReceivedBatch {
  readonly producerId: string;
  readonly epoch: number;
  readonly firstSequence: number;
  readonly values: readonly string[];
  readonly bytes: Buffer;
}

interface TheirBatch {
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly lastOffsetDelta: number;
  readonly records: readonly { readonly value: Buffer | null }[];
}
const TheirDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
const decodeTheirs = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: object,
) => Promise<TheirBatch>;

export async function readBatch(bytes: Buffer): Promise<ReceivedBatch> {
  assert.equal(bytes.readUInt32BE(17), theirCrc32c(bytes.subarray(21)) >>> 0);
  const batch = await decodeTheirs(new TheirDecoder(bytes));
  assert.equal(batch.lastOffsetDelta, batch.records.length - 1);
  return {
    producerId: batch.producerId,
    epoch: batch.producerEpoch,
    firstSequence: batch.firstSequence,
    values: batch.records.map(({ value }) => String(value)),
    bytes,
  };
}

/** A partition, and the values that producers have written to it. */
export class WritableLog extends FakeLog {
  readonly values: string[] = [];

  constructor() {
    super(1);
  }

  receive({ bytes, values }: ReceivedBatch): Appended {
    const { end } = this;
    const appended = this.appendBatch(bytes);
    if (this.end > end) this.values.push(...values);
    return appended;
  }

  override cutOff(offset: number): void {
    this.values.length = offset;
    super.cutOff(offset);
  }

  get producerIds(): string[] {
    return this.producers.producerIds;
  }
}

/** What goes wrong with a batch: an error before it is appended, or one after, or no word of it. */
export type Fault =
  | { readonly error: KafkaErrorName; readonly message?: string; readonly afterAppend?: boolean }
  | 'unanswered'
  | undefined;

export interface ReceivedRequest {
  readonly nodeId: number;
  readonly batches: readonly (ReceivedBatch & {
    readonly topic: string;
    readonly partition: number;
  })[];
}

type Names = [topic: string, partition: number];

/**
 * Brokers with as much of Kafka as a producer meets. Tests say what goes wrong with each batch, in terms of what
 * kafkajs reads in it, and let requests of one connection overtake one another: a `MemoryCluster` would know neither.
 * What a partition takes is decided by the log in memory.
 */
export class WritableCluster implements ProducerCluster, ProducerClient {
  readonly compressor: Compressor = uncompressed;
  readonly logs: Map<string, { id: string; partitions: WritableLog[] }> = new Map();
  readonly requests: ReceivedRequest[] = [];
  readonly refreshed: (readonly string[])[] = [];
  identities = 0;
  /** By the brokers' clock; undefined: records keep the time of who wrote them. */
  nowMs: number | undefined;
  isClosed = false;
  /** Asked about each batch as it arrives. */
  fault: (batch: ReceivedBatch, ...place: Names) => Fault = () => undefined;
  /** Asked about each request. `request`: it does not arrive; `answer`: it does, and nobody hears of it. */
  lose: (request: ReceivedRequest) => 'request' | 'answer' | undefined = () => undefined;
  /** How long a request takes. */
  delay: (request: ReceivedRequest) => Promise<unknown> = () => setImmediate();
  onRefresh: () => void = () => undefined;
  onIdentity: () => ProducerIdentity = () => ({ id: 1_000 + this.identities, epoch: 0 });
  readonly #known = new Map<string, TopicMetadata>();
  readonly #inFlight = new Set<string>();
  #topicsMade = 0;

  openCluster(): this {
    return this;
  }

  makeTopic(topic: string, partitions: number): WritableLog[] {
    this.#topicsMade += 1;
    const logs = Array.from({ length: partitions }, () => new WritableLog());
    this.logs.set(topic, { id: String(this.#topicsMade), partitions: logs });
    return logs;
  }

  log(topic: string, partition: number): WritableLog {
    const log = this.logs.get(topic)?.partitions[partition];
    if (log === undefined) throw new Error(`no ${topic}/${partition}`);
    return log;
  }

  values(topic: string): string[][] {
    return this.logs.get(topic)?.partitions.map(({ values }) => values) ?? [];
  }

  async refresh(topics: readonly string[]): Promise<void> {
    this.refreshed.push(topics);
    await setImmediate();
    this.onRefresh();
    for (const topic of topics) {
      const made = this.logs.get(topic);
      const partitions =
        made?.partitions.map(({ leader, epoch }) => ({
          leader,
          epoch,
          inSync: [leader],
        })) ?? [];
      if (made === undefined) this.#known.delete(topic);
      else this.#known.set(topic, { id: made.id, partitions });
    }
  }

  async refreshInTurn(topics: readonly string[]): Promise<void> {
    await this.refresh(topics);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#known.get(name);
  }

  topicError(name: string): KafkaErrorName | undefined {
    return this.#known.has(name) ? undefined : 'UNKNOWN_TOPIC_OR_PARTITION';
  }

  async initProducerId(): Promise<ProducerIdentity> {
    this.identities += 1;
    await setImmediate();
    return this.onIdentity();
  }

  async produce(nodeId: number, { topics }: ProduceRequest): Promise<readonly ProducedPartition[]> {
    const places = topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition }) => `${topic}/${partition}`),
    );
    for (const place of places) {
      assert.equal(this.#inFlight.has(place), false, `${place} is in two requests`);
      this.#inFlight.add(place);
    }
    try {
      const request: ReceivedRequest = { nodeId, batches: await readAll(topics) };
      this.requests.push(request);
      await this.delay(request);
      const lost = this.lose(request);
      if (lost === 'request')
        throw new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection broke');
      const answer = request.batches.flatMap((batch) => this.#append(nodeId, batch));
      if (lost === 'answer')
        throw new KafkaAnswerError('NETWORK_EXCEPTION', 'the connection broke');
      return answer;
    } finally {
      for (const place of places) this.#inFlight.delete(place);
    }
  }

  close(): void {
    this.isClosed = true;
  }

  #append(nodeId: number, batch: ReceivedRequest['batches'][number]): ProducedPartition[] {
    const { topic, partition } = batch;
    const log = this.logs.get(topic)?.partitions[partition];
    const answer = { topic, partition, baseOffset: -1, appendedMs: undefined, message: null };
    if (log === undefined) return [{ ...answer, error: 'UNKNOWN_TOPIC_OR_PARTITION' }];
    if (log.leader !== nodeId) return [{ ...answer, error: 'NOT_LEADER_FOR_PARTITION' }];
    const fault = this.fault(batch, topic, partition);
    if (fault === 'unanswered') return [];
    const { error, message = null, afterAppend = false } = fault ?? { error: undefined };
    if (error !== undefined && !afterAppend) return [{ ...answer, error, message }];
    const appended = { ...log.receive(batch), appendedMs: this.nowMs };
    return [{ ...answer, ...appended, error: error ?? appended.error, message }];
  }
}

async function readAll(topics: ProduceRequest['topics']): Promise<ReceivedRequest['batches']> {
  const batches = [];
  for (const { topic, partitions } of topics)
    for (const { partition, batch } of partitions)
      batches.push({ topic, partition, ...(await readBatch(batch)) });
  return batches;
}
