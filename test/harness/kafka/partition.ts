import { crc32c } from '../../../src/kafka/protocol/crc32c.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type {
  EpochEnd,
  FetchedPartition,
  FetchPosition,
} from '../../../src/kafka/protocol/fetch.ts';
import { epochEndOf, judgePosition, type LedLog } from '../../kafka/leader-epochs.ts';
import { isMarker, PartitionTransactions } from './partition-transactions.ts';

/** Where fields are, from a batch's first byte. */
const epochAt = 12;
const checksumAt = 17;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const maxTimestampAt = 35;
const producerIdAt = 43;
const producerEpochAt = 51;
const sequenceAt = 53;
const logAppendTime = 0x8;

const sequences = 2 ** 31;
const rememberedBatches = 5;

interface StoredBatch {
  readonly first: number;
  readonly last: number;
  readonly bytes: Buffer;
}

/** What a partition knows of a producer. */
interface ProducerState {
  readonly epoch: number;
  /** The newest last. */
  readonly batches: readonly { readonly first: number; readonly last: number; offset: number }[];
}

interface Waiting {
  readonly upTo: number;
  readonly settle: (error: KafkaErrorName) => void;
}

export interface Appended {
  readonly error: KafkaErrorName;
  readonly baseOffset: number;
  readonly appendedMs?: number;
}

/**
 * A partition with its replicas: the leader's log in bytes, how far each replica has it, and what readers may
 * see of it. A new leader has what its replica had; the rest of the log, which no producer was told of, is gone.
 * A broker that is isolated has one of its own, which it splits off.
 */
export class SimulatedPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly index: number;
  /** Node id; -1: nobody. */
  leader: number;
  leaderEpoch = 0;
  readonly replicas: readonly number[];
  readonly inSync: Set<number>;
  batches: StoredBatch[] = [];
  end = 0;
  /** All in-sync replicas have what is before it. */
  highWatermark = 0;
  /** Called when readers may see more, or somebody else leads. */
  readonly readers: Set<() => void> = new Set();
  #reached = new Map<number, number>();
  /** The high watermark, as each replica learned it with its last fetch. */
  #learned = new Map<number, number>();
  #producers = new Map<number, ProducerState>();
  #transactions = new PartitionTransactions();
  #epochs: { readonly epoch: number; readonly start: number }[] = [{ epoch: 0, start: 0 }];
  #waiting: Waiting[] = [];

  constructor(
    topic: { readonly name: string; readonly id: string },
    index: number,
    replicas: readonly number[],
  ) {
    this.topic = topic.name;
    this.topicId = topic.id;
    this.index = index;
    this.replicas = replicas;
    this.leader = replicas[0] ?? -1;
    this.inSync = new Set(replicas);
  }

  /** As brokers do, it gives the batch its place and its time, and says who led. */
  append(batch: Buffer, nowMs: number): Appended {
    const producerId = Number(batch.readBigInt64BE(producerIdAt));
    const delta = batch.readInt32BE(lastOffsetDeltaAt);
    if (producerId >= 0 && !isMarker(batch)) {
      const known = this.#judge(batch, producerId, delta);
      if (known !== undefined) return known;
    }
    const bytes = Buffer.from(batch);
    const first = this.end;
    bytes.writeBigInt64BE(BigInt(first), 0);
    bytes.writeInt32BE(this.leaderEpoch, epochAt);
    bytes.writeInt16BE(bytes.readInt16BE(attributesAt) | logAppendTime, attributesAt);
    bytes.writeBigInt64BE(BigInt(nowMs), maxTimestampAt);
    bytes.writeUInt32BE(crc32c(bytes.subarray(attributesAt)) >>> 0, checksumAt);
    this.batches.push({ first, last: first + delta, bytes });
    this.end = first + delta + 1;
    this.#remember(bytes, first);
    this.#transactions.add(bytes);
    return { error: 'NONE', baseOffset: first, appendedMs: nowMs };
  }

  /** Calls back when all in-sync replicas have everything before this offset, or it is known that they won't. */
  whenReplicated(upTo: number, settle: (error: KafkaErrorName) => void): void {
    if (this.highWatermark >= upTo) settle('NONE');
    else this.#waiting.push({ upTo, settle });
  }

  /** These replicas fetch what the leader has. */
  replicate(isUp: (nodeId: number) => boolean): void {
    if (this.leader < 0 || !isUp(this.leader)) return;
    let isNews = false;
    for (const nodeId of this.inSync)
      if (nodeId === this.leader || isUp(nodeId)) {
        this.#reached.set(nodeId, this.end);
        isNews ||= this.#learned.get(nodeId) !== this.highWatermark;
        this.#learned.set(nodeId, this.highWatermark);
      }
    this.#advance();
    if (isNews) this.#tellReaders();
  }

  /** The replica that the leader sends a reader to, as one that has what the reader asks for; -1: itself. */
  replicaFor(isNear: (nodeId: number) => boolean, offset: number): number {
    if (isNear(this.leader)) return -1;
    const near = this.replicas.find((id) => this.inSync.has(id) && isNear(id));
    return near === undefined || (this.#reached.get(near) ?? 0) < offset ? -1 : near;
  }

  /** What a broker has that is cut off from the others. Who waits for it to write goes on waiting for it. */
  split(nodeId: number): SimulatedPartition {
    const topic = { name: this.topic, id: this.topicId };
    const own = new SimulatedPartition(topic, this.index, this.replicas);
    own.inSync.clear();
    for (const id of this.inSync) own.inSync.add(id);
    own.#take(this);
    if (this.leader === nodeId) {
      own.#waiting = this.#waiting;
      this.#waiting = [];
    }
    return own;
  }

  /** The broker that split it off is back. What it has appended holds if nobody was elected in its place. */
  rejoin(nodeId: number, own: SimulatedPartition): void {
    if (this.leader === nodeId) {
      this.#take(own);
      this.#waiting = own.#waiting;
    } else own.#giveUp();
    own.#tellReaders();
  }

  /** It has not fetched for too long. */
  dropReplica(nodeId: number): void {
    if (nodeId === this.leader || this.inSync.size === 1) return;
    if (this.inSync.delete(nodeId)) this.#advance();
  }

  /** It has caught up with the leader. */
  addReplica(nodeId: number): void {
    if (this.leader < 0) return;
    this.#reached.set(nodeId, this.end);
    this.#learned.set(nodeId, this.highWatermark);
    this.inSync.add(nodeId);
  }

  /** Somebody who is in sync leads from now on, with what it has; nobody, if none of them is up. */
  elect(isUp: (nodeId: number) => boolean): void {
    const former = this.leader;
    const candidates = this.replicas.filter((id) => this.inSync.has(id) && isUp(id));
    const next = candidates.find((id) => id !== former) ?? candidates[0] ?? -1;
    if (next >= 0 && next !== former) {
      const hadBy = former < 0 ? this.end : (this.#reached.get(next) ?? 0);
      this.#cutOff(Math.max(hadBy, this.highWatermark));
      this.leaderEpoch += 1;
      this.#epochs.push({ epoch: this.leaderEpoch, start: this.end });
    }
    this.leader = next;
    this.#giveUp();
    this.#tellReaders();
  }

  /** Readers see what is before it: it is written everywhere, and no transaction with it is open. */
  get lastStable(): number {
    return this.#transactions.lastStable(this.highWatermark);
  }

  epochEnd(epoch: number): EpochEnd {
    return epochEndOf(this.#led, epoch);
  }

  /**
   * @param leftBytes that the answer has room for; the first batch may exceed them if `isFirst`
   * @param nodeId of the replica that was asked
   */
  fetch(
    position: FetchPosition,
    leftBytes: number,
    isFirst: boolean,
    nodeId: number = this.leader,
  ): FetchedPartition {
    const isLed = nodeId === this.leader;
    const end = isLed ? this.end : Math.min(this.end, this.#reached.get(nodeId) ?? 0);
    const highWatermark = isLed ? this.highWatermark : (this.#learned.get(nodeId) ?? 0);
    const lastStable = this.#transactions.lastStable(highWatermark);
    const problem = judgePosition({ ...this.#led, end }, position);
    const isRefused = typeof problem === 'string';
    const isRead = problem === undefined;
    const mostBytes = Math.min(position.maxBytes, leftBytes);
    return {
      topicId: this.topicId,
      partition: this.index,
      error: isRefused ? problem : 'NONE',
      highWatermark: isRefused ? -1 : highWatermark,
      lastStableOffset: isRefused ? -1 : lastStable,
      aborted: isRead ? this.#transactions.abortedFrom(position.offset) : none,
      preferredReplica: -1,
      diverging: isRefused ? undefined : problem,
      records: isRead
        ? this.#read(position.offset, { stable: lastStable, mostBytes, isFirst })
        : noRecords,
    };
  }

  get #led(): LedLog {
    return { epoch: this.leaderEpoch, start: 0, end: this.end, epochs: this.#epochs };
  }

  #read(
    offset: number,
    {
      stable,
      mostBytes,
      isFirst,
    }: { readonly stable: number; readonly mostBytes: number; readonly isFirst: boolean },
  ): Buffer {
    const wanted: Buffer[] = [];
    let bytes = 0;
    for (let at = this.#placeOf(offset); at < this.batches.length && bytes < mostBytes; at += 1) {
      const batch = this.batches[at];
      if (batch === undefined || batch.last >= stable) break;
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

  #judge(batch: Buffer, producerId: number, delta: number): Appended | undefined {
    const state = this.#producers.get(producerId);
    if (state === undefined) return undefined;
    const epoch = batch.readInt16BE(producerEpochAt);
    const first = batch.readInt32BE(sequenceAt);
    const last = (first + delta) % sequences;
    if (epoch < state.epoch) return { error: 'INVALID_PRODUCER_EPOCH', baseOffset: -1 };
    const same = state.batches.find((known) => known.first === first && known.last === last);
    if (epoch === state.epoch && same !== undefined)
      return { error: 'NONE', baseOffset: same.offset };
    const expected = epoch > state.epoch ? 0 : ((state.batches.at(-1)?.last ?? -1) + 1) % sequences;
    if (first !== expected) return { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER', baseOffset: -1 };
    return undefined;
  }

  #remember(batch: Buffer, offset: number): void {
    const producerId = Number(batch.readBigInt64BE(producerIdAt));
    if (producerId < 0) return;
    const epoch = batch.readInt16BE(producerEpochAt);
    const first = batch.readInt32BE(sequenceAt);
    const last = (first + batch.readInt32BE(lastOffsetDeltaAt)) % sequences;
    const state = this.#producers.get(producerId);
    const before = state?.epoch === epoch ? state.batches : [];
    if (isMarker(batch)) {
      this.#producers.set(producerId, { epoch, batches: before });
      return;
    }
    const batches = [...before, { first, last, offset }].slice(-rememberedBatches);
    this.#producers.set(producerId, { epoch, batches });
  }

  #cutOff(offset: number): void {
    if (offset >= this.end) return;
    this.batches = this.batches.filter(({ first }) => first < offset);
    this.#epochs = this.#epochs.filter(({ start }) => start < offset || start === 0);
    this.end = offset;
    this.#producers = new Map();
    this.#transactions = new PartitionTransactions();
    for (const { bytes, first } of this.batches) {
      this.#remember(bytes, first);
      this.#transactions.add(bytes);
    }
  }

  #take(other: SimulatedPartition): void {
    this.leader = other.leader;
    this.leaderEpoch = other.leaderEpoch;
    this.batches = [...other.batches];
    this.end = other.end;
    this.highWatermark = other.highWatermark;
    this.#reached = new Map(other.#reached);
    this.#learned = new Map(other.#learned);
    this.#producers = new Map(other.#producers);
    this.#epochs = [...other.#epochs];
    this.#transactions = new PartitionTransactions();
    for (const { bytes } of this.batches) this.#transactions.add(bytes);
  }

  #giveUp(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { settle } of waiting) settle('NOT_LEADER_FOR_PARTITION');
  }

  #advance(): void {
    const had = Array.from(this.inSync, (id) =>
      id === this.leader ? this.end : (this.#reached.get(id) ?? 0),
    );
    const next = Math.min(...had);
    if (next <= this.highWatermark) return;
    this.highWatermark = next;
    const replicated = this.#waiting.filter(({ upTo }) => upTo <= next);
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > next);
    for (const { settle } of replicated) settle('NONE');
    this.#tellReaders();
  }

  #tellReaders(): void {
    for (const tell of [...this.readers]) tell();
  }
}

const none: readonly never[] = [];
const noRecords = Buffer.alloc(0);
