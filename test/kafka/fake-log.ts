import { encodeBatch } from '../../src/kafka/protocol/batch-writer.ts';
import type { KafkaErrorName } from '../../src/kafka/protocol/errors.ts';
import type { EpochEnd, FetchedPartition, FetchPosition } from '../../src/kafka/protocol/fetch.ts';
import { epochEndOf, judgePosition, type LedLog } from './leader-epochs.ts';
import { makeMarker } from './protocol/make-batch.ts';
import { uncompressed } from './uncompressed.ts';

interface StoredBatch {
  readonly first: number;
  readonly last: number;
  readonly bytes: Buffer;
}

export type PartitionAnswer = Omit<FetchedPartition, 'topicId' | 'partition'>;

/** Where fields are, from a batch's first byte. Neither of them is part of its checksum. */
const epochAt = 12;
const lastOffsetDeltaAt = 23;

/** A partition as its replicas have it: record batches in bytes, and which leader wrote them. */
export class FakeLog {
  /** Node id; -1: nobody. */
  leader: number;
  epoch = 0;
  /** Node ids; undefined: the leader alone. */
  inSync: readonly number[] | undefined;
  start = 0;
  end = 0;
  /** A transaction is open from here on; readers of committed records see nothing behind it. */
  openFrom: number | undefined;
  aborted: PartitionAnswer['aborted'] = [];
  /** The node that the leader sends readers in its zone to. */
  replica: number | undefined;
  /** What that node makes of what it has. */
  replicaAnswers: (answer: PartitionAnswer) => PartitionAnswer = (answer) => answer;
  /** What is answered to every fetch of this partition. */
  fetchError: KafkaErrorName | undefined;
  listError: KafkaErrorName | undefined;
  commitError: KafkaErrorName | undefined;
  batches: StoredBatch[] = [];
  #epochs: { readonly epoch: number; readonly start: number }[] = [{ epoch: 0, start: 0 }];
  readonly #changed: () => void;

  constructor(leader: number, changed: () => void = () => undefined) {
    this.leader = leader;
    this.#changed = changed;
  }

  /** One batch. */
  append(...values: readonly (string | number)[]): void {
    const records = values.map((value) => ({ key: 'key', value: String(value) }));
    const origin = { producerId: -1, epoch: -1, sequence: -1 };
    this.appendBatch(encodeBatch(records, origin, uncompressed, Date.now()));
  }

  /** The end of a transaction, of which no reader is shown anything. */
  appendMarker(producerId: number = 1, type: 'abort' | 'commit' = 'commit'): void {
    this.appendBatch(makeMarker(0, producerId, type));
  }

  /** As brokers do, it gives the batch its place and says who wrote it. */
  appendBatch(batch: Buffer): void {
    const bytes = Buffer.from(batch);
    const first = this.end;
    bytes.writeBigInt64BE(BigInt(first), 0);
    bytes.writeInt32BE(this.epoch, epochAt);
    const last = first + bytes.readInt32BE(lastOffsetDeltaAt);
    this.batches.push({ first, last, bytes });
    this.end = last + 1;
    this.#changed();
  }

  /** Offsets whose records compaction has taken away, batch and all. */
  skip(count: number): void {
    this.end += count;
    this.#changed();
  }

  get bytes(): number {
    return this.batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** By retention, or by somebody. */
  removeBefore(offset: number): void {
    this.start = Math.max(this.start, Math.min(offset, this.end));
    this.batches = this.batches.filter(({ last }) => last >= this.start);
    const first = this.#epochs.findLast(({ start }) => start <= this.start);
    this.#epochs = this.#epochs.filter(({ start }) => start > this.start);
    if (first !== undefined) this.#epochs.unshift({ epoch: first.epoch, start: this.start });
    this.#changed();
  }

  /** Another node leads from now on, with all that was written; -1: none does. */
  lead(nodeId: number): void {
    this.leader = nodeId;
    this.epoch += 1;
    this.#epochs = this.#epochs.filter(({ start }) => start < this.end);
    this.#epochs.push({ epoch: this.epoch, start: this.end });
    this.#changed();
  }

  /** A node leads that has not heard of what is behind this offset, which has to be where a batch begins. */
  cutOff(offset: number, nodeId: number = this.leader): void {
    this.batches = this.batches.filter(({ first }) => first < offset);
    this.#epochs = this.#epochs.filter(({ start }) => start < offset);
    this.end = Math.max(this.start, Math.min(this.end, offset));
    this.lead(nodeId);
  }

  /**
   * One bit of a batch turns, on the broker's disk. The function turns it back.
   * @param at in the batch; its last byte where not given, which is part of a record
   */
  damage(offset: number, at?: number): () => void {
    const { bytes } = this.batchOf(offset);
    const turn = (): void => {
      const place = at ?? bytes.length - 1;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      this.#changed();
    };
    turn();
    return turn;
  }

  batchOf(offset: number): StoredBatch {
    const batch = this.batches.find(({ first, last }) => first <= offset && offset <= last);
    if (batch === undefined) throw new RangeError(`no batch has offset ${offset}`);
    return batch;
  }

  epochEnd(epoch: number): EpochEnd {
    return epochEndOf(this.#led, epoch);
  }

  get #led(): LedLog {
    return { epoch: this.epoch, start: this.start, end: this.end, epochs: this.#epochs };
  }

  get lastStableOffset(): number {
    return this.openFrom ?? this.end;
  }

  /** @param leftBytes that the answer has room for; the first batch may exceed them if `isFirst` */
  fetch(position: FetchPosition, leftBytes: number, isFirst: boolean): PartitionAnswer {
    if (this.fetchError !== undefined) return this.#refusal(this.fetchError);
    const problem = judgePosition(this.#led, position);
    if (typeof problem === 'string') return this.#refusal(problem);
    if (problem !== undefined) return { ...this.#answer(), diverging: problem };
    const mostBytes = Math.min(position.maxBytes, leftBytes);
    return { ...this.#answer(), records: this.#read(position.offset, mostBytes, isFirst) };
  }

  #read(offset: number, mostBytes: number, isFirst: boolean): Buffer {
    const upTo = this.lastStableOffset;
    const readable = this.batches.filter(({ first, last }) => last >= offset && first < upTo);
    const bytes = Buffer.concat(readable.map((batch) => batch.bytes));
    const firstBytes = readable[0]?.bytes.length ?? 0;
    // The first batch comes whole or not at all, and the last one may be cut off, as brokers do it.
    if (mostBytes < firstBytes) return bytes.subarray(0, isFirst ? firstBytes : 0);
    return bytes.subarray(0, mostBytes);
  }

  #answer(): PartitionAnswer {
    const { end, lastStableOffset, aborted } = this;
    return {
      error: 'NONE',
      highWatermark: end,
      lastStableOffset,
      aborted,
      preferredReplica: -1,
      diverging: undefined,
      records: Buffer.alloc(0),
    };
  }

  #refusal(error: KafkaErrorName): PartitionAnswer {
    return { ...this.#answer(), error, highWatermark: -1, lastStableOffset: -1 };
  }
}
