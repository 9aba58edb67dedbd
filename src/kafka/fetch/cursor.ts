import type { AbortedTransaction, FetchPosition } from '../protocol/fetch.ts';
import { FetchedRecords, type Wanted } from '../protocol/fetched-records.ts';
import type { IncomingRecord, TopicPartition } from '../record.ts';

/** The part of an answer that a partition got. */
export interface Brought {
  /** The node that sent it. */
  readonly nodeId: number;
  readonly records: PartitionRecords;
  /** The time at which it was requested, by the steady clock. */
  readonly askedAtMs: number;
  /** The end of what a reader of committed records could see then. */
  readonly end: number;
}

/** The time for which only the leader is asked after a replica was left. */
const leaderOnlyMs = 300_000;

/** The position in one partition, and what is known of its log. A fetch uses it as it is. */
export class Cursor implements TopicPartition, FetchPosition {
  readonly topic: string;
  readonly partition: number;
  /** The most that a fetch may bring; one batch may exceed it. */
  limitBytes: number;
  /** The size that the next fetch requests, within the limit. */
  maxBytes: number;
  /** The offset to read next. */
  offset: number;
  /** Epoch of the last record that was read; -1: unknown. */
  lastEpoch: number;
  /** Id of the topic that the offset belongs to; undefined until the cluster has reported it. */
  topicId: string | undefined;
  /** Node id; -1: there is no leader, or it is not known. */
  leader = -1;
  /** Epoch of the leader; -1: unknown. */
  leaderEpoch = -1;
  /** The number of times in a row that others were asked who leads, because its leader does not have the position. */
  timesDoubted = 0;
  /** Since when, by the steady clock, the cluster knows of no leader; undefined: it does. */
  unledSinceMs: number | undefined;
  /** A replica in this process's zone that the leader named, and until when it is used. */
  replica: { readonly nodeId: number; readonly untilMs: number } | undefined;
  /**
   * By the steady clock. Until then, the leader is not told the zone of this process, so it names no replica.
   */
  leaderOnlyUntilMs = 0;
  /** The owner wants nothing now. */
  isPaused = false;
  /** The last one in which records of it came; -1: none did. */
  turn = -1;
  /** The cursor is in a fetch that is not answered yet. */
  isAsked = false;
  /** Epoch of the leader that the last fetch was meant for: no other has answered it, but with an error. */
  askedEpoch = -1;
  /** Records that an answer brought and the owner has not taken yet. */
  brought: Brought | undefined;
  /** True while what was brought is being handed over. */
  isHandedOver = false;
  /** By the steady clock: it is not asked for before. */
  restUntilMs = 0;
  /** The contradiction in the last answer. */
  contradiction: string | undefined;
  /** The number of times in a row that Kafka's ACLs have refused it; undefined: it was not read yet. */
  refusals: number | undefined;

  /** @param lastEpoch as it was committed; -1: unknown */
  constructor(
    { topic, partition }: TopicPartition,
    offset: number,
    limitBytes: number,
    lastEpoch = -1,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.offset = offset;
    this.limitBytes = limitBytes;
    this.maxBytes = limitBytes;
    this.lastEpoch = lastEpoch;
  }

  /** True if its leader is not known to be as late as the one whose record was read last. */
  get mayBeOfFormerLeader(): boolean {
    return this.lastEpoch < 0 || this.lastEpoch > this.leaderEpoch;
  }

  /** The replica did not answer, or cannot be believed, although its leader still counts it as available. */
  leaveReplica(nowMs: number): void {
    if (this.replica !== undefined) this.leaderOnlyUntilMs = nowMs + leaderOnlyMs;
    this.replica = undefined;
  }

  /** The node to fetch from at this time of the steady clock. */
  nodeAt(nowMs: number): number {
    if (this.replica === undefined) return this.leader;
    if (nowMs < this.replica.untilMs) return this.replica.nodeId;
    this.replica = undefined;
    return this.leader;
  }
}

/** @returns the cursors of one fetch by topic, as a request names them; those of one topic come one after the other */
export function byTopic(asked: readonly Cursor[]): { id: string; partitions: Cursor[] }[] {
  const topics: { id: string; partitions: Cursor[] }[] = [];
  for (const cursor of asked) {
    const last = topics.at(-1);
    if (last !== undefined && last.id === cursor.topicId) last.partitions.push(cursor);
    else topics.push({ id: cursor.topicId ?? '', partitions: [cursor] });
  }
  return topics;
}

/** The records that a fetch brought of a partition. Its fields are those of the current record. */
export class PartitionRecords extends FetchedRecords implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly #fromOffset: number;

  constructor(
    { topic, partition }: TopicPartition,
    bytes: Buffer,
    fromOffset: number,
    aborted: readonly AbortedTransaction[],
    wanted?: Wanted,
  ) {
    super(bytes, fromOffset, aborted, wanted);
    this.topic = topic;
    this.partition = partition;
    this.#fromOffset = fromOffset;
  }

  /** Once `next` has returned false: why nothing more of the partition can be read now; undefined: it can. */
  get obstacle(): Error | undefined {
    // Brokers send the first batch whole, or nothing.
    return this.problem ?? (this.position === this.#fromOffset ? endless : undefined);
  }

  /** The current record as an object. */
  current(): IncomingRecord {
    const { topic, partition, offset, timestampMs, key, value, headers, flaw } = this;
    return { topic, partition, offset, timestampMs, key, value, headers, flaw };
  }
}

const endless = new Error('a batch states a length beyond what the broker has sent');

/** The lengths that an answer has shown of a partition's batches. Both include the first fields. */
export interface SeenBatches {
  /** Length of the largest whole batch; 0: there was none. */
  readonly largestBytes: number;
  /** Length of the batch that was cut off and comes next; undefined: not known. */
  readonly cutBytes: number | undefined;
}

/** A batch's offset and length, its first fields. */
const frontBytes = 12;
/** Batches of the same size before compression differ by a few per cent after it. */
const allowance = 1 + 1 / 16;

/**
 * The number of bytes to fetch. A broker cuts its answer at the requested size, and a batch that is cut has to be
 * fetched again. So this is a whole number of batches: the next one, whose length is known, as many more as
 * fit if they are like the largest, and the front of the one behind, which has its length. If the log has
 * changed and the next batch is larger now, it comes when its partition is the first in a fetch.
 */
export function wholeBatches(limitBytes: number, { largestBytes, cutBytes }: SeenBatches): number {
  if (cutBytes === undefined) return limitBytes;
  const likelyBytes = Math.max(largestBytes, cutBytes);
  const batches = Math.floor(limitBytes / likelyBytes);
  if (batches === 0) return limitBytes;
  const furtherBytes = Math.ceil((batches - 1) * likelyBytes * allowance);
  return Math.min(limitBytes, cutBytes + furtherBytes + frontBytes);
}
