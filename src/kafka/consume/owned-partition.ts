import { Cursor } from '../fetch/cursor.ts';
import type { PartitionRecords } from '../fetch/partition-records.ts';
import type { KafkaErrorName } from '../protocol/errors.ts';
import type { TopicPartition } from '../record.ts';
import { encodeCommitMetadata, mostGaps, type CommitMetadata } from './commit-metadata.ts';
import { ConsumedRecord, type RecordOwner } from './consumed-record.ts';
import type { Commit } from './coordinator.ts';
import { OffsetTracker } from './offset-tracker.ts';
import { fullness, mustPause, type WindowLimits } from './window.ts';

/**
 * What is in flight and committed of one partition since it was last read from a committed offset.
 * Records hold on to it: when the partition takes a new account, finishing them has no effect.
 */
export class Account implements RecordOwner {
  readonly tracker: OffsetTracker;
  /** What the broker holds, as far as this process knows; undefined: nothing. */
  committed: number | undefined;
  /** The last offset that was sent; it may have arrived although its answer did not. */
  attempted: number | undefined;
  /** How many records were finished when it was last committed. */
  committedFinishes = 0;
  /** The broker takes no metadata of that size. */
  isCommittedBare = false;
  /** Set while something waits for records to be settled. */
  onSettled: (() => void) | undefined;
  /** Of the newest record that a former owner had read; -1: unknown. */
  readonly #formerEpoch: number;

  /** @param former what was told with the commit at this position */
  constructor(position: number, committed: number | undefined, former?: CommitMetadata) {
    this.tracker = new OffsetTracker(position, former?.ahead);
    this.committed = committed;
    this.#formerEpoch = former?.epoch ?? -1;
  }

  /** Takes a record into account, as `OffsetTracker.add`. `epoch`: of the leader that wrote it. */
  add(offset: number, epoch: number, sizeBytes: number, appendTimeMs: number): number | undefined {
    // What a former owner finished was written before. This stands where that was: the log was cut off.
    if (epoch > this.#formerEpoch) this.tracker.forgetAhead();
    return this.tracker.add(offset, sizeBytes, appendTimeMs);
  }

  /** To be committed: of the newest record that was read here or before. */
  newestEpoch(lastEpoch: number): number {
    return Math.max(lastEpoch, this.#formerEpoch);
  }

  finish(slot: number): void {
    if (this.tracker.finish(slot)) this.onSettled?.();
  }

  release(slot: number): void {
    if (this.tracker.release(slot)) this.onSettled?.();
  }

  /** The broker's answer to a commit. */
  answered(
    error: KafkaErrorName,
    { offset, finishes }: { offset: number; finishes: number },
  ): void {
    if (error === 'OFFSET_METADATA_TOO_LARGE') this.isCommittedBare = true;
    if (error !== 'NONE') return;
    this.committed = offset;
    this.committedFinishes = finishes;
  }

  /** The prefix has moved, or something behind it was finished. */
  get isDue(): boolean {
    const { tracker } = this;
    return tracker.finishedUpTo !== this.committed || tracker.finishes !== this.committedFinishes;
  }
}

/** A commit, and what it says of the account. */
export interface DueCommit extends Commit {
  readonly account: Account;
  readonly finishes: number;
}

/** A partition of this member, from the assignment that brings it to the one that takes it away. */
export class OwnedPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  readonly limits: WindowLimits;
  /** Where it is read; undefined until its position is known, and when it is to be let go of. */
  cursor: Cursor | undefined;
  account: Account | undefined;
  /** The group went on without this member: somebody else may have moved its committed offset. */
  isDoubtful = false;
  /** Its topic was deleted and made again: it is read from the beginning. */
  isRemade = false;
  /** It goes to somebody else as soon as nothing of it is in flight. */
  isRevoked = false;
  /** Paused by the stage. */
  isHeld = false;
  /** Paused by the window. */
  isFull = false;
  highWatermark: number | undefined;

  constructor({ topic, partition }: TopicPartition, limits: WindowLimits) {
    this.topic = topic;
    this.partition = partition;
    this.limits = limits;
  }

  /** Takes records into account; those that it had are left out. */
  accept(account: Account, records: PartitionRecords, most: number): AcceptedRecords {
    const accepted: ConsumedRecord[] = [];
    let seen = 0;
    while (seen < most && records.next()) {
      seen += 1;
      const sizeBytes = (records.key?.length ?? 0) + (records.value?.length ?? 0);
      const slot = account.add(records.offset, records.epoch, sizeBytes, records.timestampMs);
      if (slot !== undefined) accepted.push(new ConsumedRecord(records, account, slot));
    }
    // Past markers and aborted records, which are shown to nobody.
    account.tracker.skipTo(records.position);
    return { accepted, seen };
  }

  /** Whether intake must rest now. */
  updateFull(): boolean {
    const { account } = this;
    this.isFull = account !== undefined && mustPause(this.isFull, account.tracker, this.limits);
    return this.isFull;
  }

  /** The part of its window that is taken. */
  get fullness(): number {
    return this.account === undefined ? 0 : fullness(this.account.tracker, this.limits);
  }

  /** What to commit; undefined: nothing new, or somebody else may have gone on from here. */
  takeCommit(): DueCommit | undefined {
    const { topic, partition, account } = this;
    if (account?.isDue !== true || this.isDoubtful) return undefined;
    const { tracker } = account;
    const { finishedUpTo: offset, finishes } = tracker;
    const ahead = account.isCommittedBare ? undefined : tracker.finishedAhead(mostGaps);
    account.attempted = offset;
    const epoch = account.newestEpoch(this.cursor?.lastEpoch ?? -1);
    const metadata = encodeCommitMetadata(offset, { epoch, ahead });
    return { topic, partition, offset, metadata, account, finishes };
  }

  /** Records between the finished prefix and the high watermark. */
  get lag(): number {
    const finishedUpTo = this.account?.tracker.finishedUpTo;
    if (finishedUpTo === undefined || this.highWatermark === undefined) return 0;
    return Math.max(0, this.highWatermark - finishedUpTo);
  }
}

export interface AcceptedRecords {
  readonly accepted: ConsumedRecord[];
  /** How many there were. */
  readonly seen: number;
}
