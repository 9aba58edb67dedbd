import type { FetchPosition } from '../protocol/fetch.ts';
import type { TopicPartition } from '../record.ts';
import type { PartitionRecords } from './partition-records.ts';

/** What an answer brought of a partition. */
export interface Brought {
  /** The offset that was asked for. */
  readonly from: number;
  readonly records: PartitionRecords;
  /** When it was asked for, by the steady clock. */
  readonly askedAtMs: number;
  /** What a reader of committed records could see then ends here. */
  readonly end: number;
}

/** For so long after one that did not answer. */
const leaderOnlyMs = 300_000;

/** Where one partition is read on, and what is known of its log. A fetch asks with it as it is. */
export class Cursor implements TopicPartition, FetchPosition {
  readonly topic: string;
  readonly partition: number;
  /** The most that a fetch may bring; one batch may exceed it. */
  readonly limitBytes: number;
  /** What the next fetch asks for, within the limit. */
  maxBytes: number;
  /** The offset to read next. */
  offset: number;
  /** Of the last record that was read; -1: unknown. */
  lastEpoch: number;
  /** Of the topic that the offset belongs to; undefined until the cluster has told it. */
  topicId: string | undefined;
  /** Node id; -1: there is none, or it is not known. */
  leader = -1;
  /** Of the leader; -1: unknown. */
  leaderEpoch = -1;
  /** A replica in this process's zone that the leader named, and until when it is asked. */
  replica: { readonly nodeId: number; readonly untilMs: number } | undefined;
  /** By the steady clock: until then the leader is not told where this process is, and names no replica. */
  leaderOnlyUntilMs = 0;
  /** Its owner wants nothing now. */
  isPaused = false;
  /** In a fetch that is not answered yet. */
  isAsked = false;
  /** What an answer brought and its owner has not taken yet. */
  brought: Brought | undefined;
  /** What was brought is being handed over. */
  isHandedOver = false;
  /** By the steady clock: it is not asked for before. */
  restUntilMs = 0;

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

  /** The replica did not answer: its leader still takes it for one that does. */
  leaveReplica(nowMs: number): void {
    if (this.replica !== undefined) this.leaderOnlyUntilMs = nowMs + leaderOnlyMs;
    this.replica = undefined;
  }

  /** Whom to ask at this time by the steady clock. */
  nodeAt(nowMs: number): number {
    if (this.replica === undefined) return this.leader;
    if (nowMs < this.replica.untilMs) return this.replica.nodeId;
    this.replica = undefined;
    return this.leader;
  }
}
