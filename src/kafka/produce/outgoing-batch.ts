import { encodeBatch } from '../protocol/batch-writer.ts';
import type { Compressor } from '../protocol/compressor.ts';
import type { ProducerIdentity } from '../protocol/init-producer-id.ts';
import type { ProduceRequest } from '../protocol/produce.ts';
import type { PartitionQueue, QueuedRecord, Slice } from './partition-queue.ts';
import { firstSequence, nextEpoch, sequenceAfter } from './sequence.ts';

const nothing = Buffer.alloc(0);

/**
 * A slice on its way. As a rule it is one batch of Kafka's; where Kafka has condemned that, several, one after
 * the other.
 */
export class OutgoingBatch {
  readonly queue: PartitionQueue;
  /** One for each batch; the first is on its way. */
  readonly #parts: (readonly QueuedRecord[])[];
  #bytes: Buffer | undefined;

  constructor({ queue, records }: Slice) {
    this.queue = queue;
    this.#parts = [records];
  }

  /** Those that are on their way; none: all have landed. */
  get records(): readonly QueuedRecord[] {
    return this.#parts[0] ?? [];
  }

  /** All that have not landed. */
  get left(): readonly QueuedRecord[] {
    return this.#parts.flat();
  }

  /** Once encoded. */
  get bytes(): Buffer {
    return this.#bytes ?? nothing;
  }

  /** Once for as often as the same records are sent under the same number. */
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

  /** The numbers of what is not written go to what comes behind it. */
  refused(): void {
    this.#parts.shift();
    this.renew();
  }

  /** Into two halves, of which the earlier goes first. */
  split(): void {
    const records = this.#parts.shift() ?? [];
    const middle = Math.ceil(records.length / 2);
    this.#parts.unshift(records.slice(0, middle), records.slice(middle));
    this.renew();
  }

  /** The partition knows nothing of the numbers before. False: another producer id is needed. */
  beginEpoch(): boolean {
    const { sequence } = this.queue;
    this.queue.sequence = sequence === undefined ? undefined : nextEpoch(sequence);
    this.renew();
    return this.queue.sequence !== undefined;
  }

  /** It has to be encoded again. */
  renew(): void {
    this.#bytes = undefined;
  }
}

/** Of partitions of one leader, once all are encoded. */
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
