import { encodeBatch } from '../../../src/kafka/protocol/batch-writer.ts';
import { crc32c } from '../../../src/kafka/protocol/crc32c.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type {
  EpochEnd,
  FetchedPartition,
  FetchPosition,
} from '../../../src/kafka/protocol/fetch.ts';
import { makeMarker } from '../../kafka/protocol/make-batch.ts';
import { uncompressed } from '../../kafka/uncompressed.ts';
import { refusedPartition } from './fetched-partitions.ts';
import { epochEndOf, judgePosition, type LedLog } from './leader-epochs.ts';
import { PartitionTransactions } from './partition-transactions.ts';
import { ProducerStates } from './producer-states.ts';

/** Where fields are, from a batch's first byte. Only the last two are part of its checksum. */
const epochAt = 12;
const checksumAt = 17;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const maxTimestampAt = 35;
const logAppendTime = 0x8;

export interface StoredBatch {
  readonly first: number;
  readonly last: number;
  readonly bytes: Buffer;
}

export interface Appended {
  readonly error: KafkaErrorName;
  readonly baseOffset: number;
  readonly appendedMs?: number | undefined;
}

/** How far a node has the log, and what it shows of it. */
export interface Copy {
  readonly end: number;
  readonly highWatermark: number;
}

/**
 * A partition's log as its leader has it: record batches in bytes, which leader wrote them, what is known of their
 * producers, and who waits for more. Which other nodes have it, and how much of it, is for its subclass to say.
 */
export abstract class MemoryLog {
  readonly topic: string;
  readonly topicId: string;
  readonly index: number;
  /** Node id; -1: nobody. */
  leader: number;
  epoch = 0;
  /** Node ids; undefined: the leader alone. */
  inSync: Iterable<number> | undefined;
  start = 0;
  end = 0;
  batches: StoredBatch[] = [];
  /** Called when readers may see something else. */
  readonly readers: Set<() => void> = new Set();
  protected producers: ProducerStates = new ProducerStates();
  protected transactions: PartitionTransactions = new PartitionTransactions();
  protected epochs: LedLog['epochs'] = [{ epoch: 0, start: 0 }];

  constructor(
    topic: { readonly name: string; readonly id: string },
    index: number,
    leader: number,
  ) {
    this.topic = topic.name;
    this.topicId = topic.id;
    this.index = index;
    this.leader = leader;
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

  /**
   * As brokers do, it gives the batch its place, and says who led.
   * @param appendedMs becomes the time of all its records; undefined: they keep their producer's
   */
  appendBatch(batch: Buffer, appendedMs?: number): Appended {
    const known = this.producers.judge(batch);
    if (known !== undefined) return known;
    const bytes = Buffer.from(batch);
    const first = this.end;
    const last = first + bytes.readInt32BE(lastOffsetDeltaAt);
    bytes.writeBigInt64BE(BigInt(first), 0);
    bytes.writeInt32BE(this.epoch, epochAt);
    if (appendedMs !== undefined) {
      bytes.writeInt16BE(bytes.readInt16BE(attributesAt) | logAppendTime, attributesAt);
      bytes.writeBigInt64BE(BigInt(appendedMs), maxTimestampAt);
      bytes.writeUInt32BE(crc32c(bytes.subarray(attributesAt)) >>> 0, checksumAt);
    }
    this.batches.push({ first, last, bytes });
    this.end = last + 1;
    this.producers.add(bytes, first);
    this.transactions.add(bytes);
    this.appended();
    return { error: 'NONE', baseOffset: first, appendedMs };
  }

  /** Offsets whose records compaction has taken away, batch and all. */
  skip(count: number): void {
    this.end += count;
    this.appended();
  }

  /** By retention, or by somebody. */
  removeBefore(offset: number): void {
    this.start = Math.max(this.start, Math.min(offset, this.end));
    this.batches = this.batches.filter(({ last }) => last >= this.start);
    const first = this.epochs.findLast(({ start }) => start <= this.start);
    const later = this.epochs.filter(({ start }) => start > this.start);
    this.epochs =
      first === undefined ? later : [{ epoch: first.epoch, start: this.start }, ...later];
    this.tellReaders();
  }

  /** Another node leads from now on, with all that was written; -1: none does. */
  lead(nodeId: number): void {
    this.leader = nodeId;
    this.beginEpoch();
    this.tellReaders();
  }

  /** A node leads that has not heard of what is behind this offset, which has to be where a batch begins. */
  cutOff(offset: number, nodeId: number = this.leader): void {
    this.truncate(Math.max(this.start, offset));
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
      this.tellReaders();
    };
    turn();
    return turn;
  }

  batchOf(offset: number): StoredBatch {
    const batch = this.batches[this.#placeOf(offset)];
    if (batch === undefined || batch.first > offset)
      throw new RangeError(`no batch has offset ${offset}`);
    return batch;
  }

  get bytes(): number {
    return this.batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  get highWatermark(): number {
    return this.end;
  }

  /** Readers of committed records see what is before it: no transaction with it is open. */
  get lastStable(): number {
    return this.lastStableOf(this.highWatermark);
  }

  /** Where the first batch is that has a record of this time or a later one; -1: nowhere. */
  offsetAt(timeMs: number): number {
    const found = this.batches.find(
      ({ bytes }) => Number(bytes.readBigInt64BE(maxTimestampAt)) >= timeMs,
    );
    return found?.first ?? -1;
  }

  epochEnd(epoch: number): EpochEnd {
    return epochEndOf(this.led(this.end), epoch);
  }

  /** Whether the node can be asked for it. */
  isOn(nodeId: number): boolean {
    return nodeId === this.leader;
  }

  /** Whom a node sends a reader to that is in this rack, as one that has what is asked for; -1: nobody. */
  abstract replicaNear(rack: string, nodeId: number, offset: number): number;

  /**
   * @param leftBytes that the answer has room for; the first batch may exceed them if `isFirst`
   * @param nodeId of the node that is asked
   */
  fetch(
    position: FetchPosition,
    leftBytes: number,
    isFirst: boolean,
    nodeId: number = this.leader,
  ): FetchedPartition {
    const { end, highWatermark } = this.copyOn(nodeId);
    const problem = judgePosition(this.led(end), position);
    if (typeof problem === 'string') return refusedPartition(this.topicId, this.index, problem);
    const lastStable = this.lastStableOf(highWatermark);
    const mostBytes = Math.min(position.maxBytes, leftBytes);
    const isRead = problem === undefined;
    return {
      topicId: this.topicId,
      partition: this.index,
      error: 'NONE',
      highWatermark,
      lastStableOffset: lastStable,
      aborted: isRead ? this.transactions.abortedFrom(position.offset) : [],
      preferredReplica: -1,
      diverging: problem,
      records: isRead ? this.#read(position.offset, lastStable, mostBytes, isFirst) : noRecords,
    };
  }

  tellReaders(): void {
    for (const tell of [...this.readers]) tell();
  }

  /** There is more in the log. */
  protected appended(): void {
    this.tellReaders();
  }

  protected abstract copyOn(nodeId: number): Copy;

  protected led(end: number): LedLog {
    return { epoch: this.epoch, start: this.start, end, epochs: this.epochs };
  }

  protected lastStableOf(highWatermark: number): number {
    return this.transactions.lastStable(highWatermark);
  }

  protected beginEpoch(): void {
    this.epoch += 1;
    const before = this.epochs.filter(({ start }) => start < this.end);
    this.epochs = [...before, { epoch: this.epoch, start: this.end }];
  }

  /** What is known of producers and transactions is what the batches tell that are left. */
  protected truncate(offset: number): void {
    if (offset >= this.end) return;
    this.batches = this.batches.filter(({ last }) => last < offset);
    this.epochs = this.epochs.filter(({ start }) => start < offset);
    this.end = offset;
    this.producers = new ProducerStates();
    this.transactions = new PartitionTransactions();
    for (const { bytes, first } of this.batches) {
      this.producers.add(bytes, first);
      this.transactions.add(bytes);
    }
  }

  #read(offset: number, stable: number, mostBytes: number, isFirst: boolean): Buffer {
    const wanted: Buffer[] = [];
    let bytes = 0;
    for (let at = this.#placeOf(offset); at < this.batches.length; at += 1) {
      const batch = this.batches[at];
      const isFull = wanted.length > 0 && bytes >= mostBytes;
      if (batch === undefined || isFull || batch.last >= stable) break;
      wanted.push(batch.bytes);
      bytes += batch.bytes.length;
    }
    const [first] = wanted;
    if (first === undefined) return noRecords;
    // The first batch comes whole or not at all, and the last one may be cut off, as brokers do it.
    if (mostBytes < first.length) return isFirst ? first : noRecords;
    return Buffer.concat(wanted).subarray(0, mostBytes);
  }

  /** The batch that has this offset, or the first behind it. */
  #placeOf(offset: number): number {
    let [low, high] = [0, this.batches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.batches[middle]?.last ?? Infinity) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const noRecords = Buffer.alloc(0);
