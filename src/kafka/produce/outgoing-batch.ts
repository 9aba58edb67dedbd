import { encodeBatch } from '../protocol/batch-writer.ts';
import type { Compressor } from '../protocol/compressor.ts';
import type { ProduceRequest, ProducerIdentity } from '../protocol/produce.ts';
import type { PartitionQueue, QueuedRecord, Slice } from './partition-queue.ts';
import { firstSequence, nextEpoch, sequenceAfter } from './sequence.ts';

const nothing = Buffer.alloc(0);

/**
 * A slice in flight. Usually it is one record batch. After Kafka has refused the batch, it is several, one
 * after the other.
 */
export class OutgoingBatch {
  readonly queue: PartitionQueue;
  /** The partition's, as it was known when the batch was sent last; -1: it was not. */
  leaderEpoch = -1;
  /** One for each batch; the first is in flight. */
  readonly #parts: (readonly QueuedRecord[])[];
  #bytes: Buffer | undefined;

  constructor({ queue, records }: Slice) {
    this.queue = queue;
    this.#parts = [records];
  }

  /** The records in flight; none: all have been settled. */
  get records(): readonly QueuedRecord[] {
    return this.#parts[0] ?? [];
  }

  /** All records that have not been settled. */
  get left(): readonly QueuedRecord[] {
    return this.#parts.flat();
  }

  /**
   * Nobody waits for any of its records anymore. While somebody waits for one, all are sent, because only the same
   * bytes are recognized if they arrived before.
   */
  get isGivenUp(): boolean {
    return this.#parts.every((records) => records.every(({ isSettled }) => isSettled));
  }

  /** The encoded batch. */
  get bytes(): Buffer {
    return this.#bytes ?? nothing;
  }

  /** Encodes once for all times that the same records are sent under the same sequence number. */
  encode(identity: ProducerIdentity, compressor: Compressor, nowMs: number): void {
    if (this.#bytes !== undefined) return;
    this.queue.sequence ??= firstSequence(identity);
    const { producerId, epoch, next: sequence } = this.queue.sequence;
    this.#bytes = encodeBatch(this.records, { producerId, epoch, sequence }, compressor, nowMs);
  }

  written(): void {
    const { sequence } = this.queue;
    if (sequence !== undefined) this.queue.sequence = sequenceAfter(sequence, this.records.length);
    this.refused();
  }

  /** The records that follow get the sequence numbers of what is not written. */
  refused(): void {
    this.#parts.shift();
    this.renew();
  }

  /** Splits the batch into two halves, of which the earlier goes first. */
  split(): void {
    const records = this.#parts.shift() ?? [];
    const middle = Math.ceil(records.length / 2);
    this.#parts.unshift(records.slice(0, middle), records.slice(middle));
    this.renew();
  }

  /**
   * Kafka has no state of this producer for the partition, or may have what was sent in this epoch. Returns false if
   * another producer id is needed.
   */
  beginEpoch(): boolean {
    const { sequence } = this.queue;
    this.queue.sequence = sequence === undefined ? undefined : nextEpoch(sequence);
    this.renew();
    return this.queue.sequence !== undefined;
  }

  /** The batch has to be encoded again. */
  renew(): void {
    this.#bytes = undefined;
  }
}

/** The request for partitions of one leader, once all are encoded. */
export function requestOf(batches: readonly OutgoingBatch[], timeoutMs: number): ProduceRequest {
  const topics = new Map<string, { partition: number; batch: Buffer }[]>();
  for (const { queue, bytes } of batches) {
    const part = { partition: queue.partition, batch: bytes };
    const parts = topics.get(queue.topic);
    if (parts === undefined) topics.set(queue.topic, [part]);
    else parts.push(part);
  }
  return {
    timeoutMs,
    topics: Array.from(topics, ([topic, partitions]) => ({ topic, partitions })),
  };
}
