import { Cursor, type PartitionRecords } from '../fetch/cursor.ts';
import type { KafkaErrorName } from '../protocol/errors.ts';
import { PartitionMap, type TopicPartition } from '../record.ts';
import { encodeCommitMetadata, mostGaps, type CommitMetadata } from './commit-metadata.ts';
import { TakenRecord, type RecordOwner, type TakenPartition } from './taken-record.ts';
import type { Commit } from './coordinator.ts';
import { eitherOf, OffsetTracker, type FinishedAhead } from './offset-tracker.ts';
import { fullness, hasRoom, mustPause, type Holding, type WindowLimits } from './window.ts';

/**
 * The account of one partition since it was last read from a committed offset: in flight and committed. Records
 * refer to their account: when the partition gets a new account, finishing old records has no effect.
 */
export class Account implements RecordOwner {
  readonly tracker: OffsetTracker;
  /** The offset that the broker has, as far as this process knows; undefined: none. */
  committed: number | undefined;
  /** The last offset that was sent. It may have arrived although its answer did not. */
  attempted: number | undefined;
  /** Number of finished records at the last commit. */
  committedFinishes = 0;
  /** The broker does not accept metadata of that size. */
  isCommittedBare = false;
  /** Set while something waits for records to be settled. */
  onSettled: (() => void) | undefined;
  /** Called for every record that is finished. */
  onFinished: (() => void) | undefined;
  /** All that is finished here is so in what leaders up to this epoch have written; -1: unknown. */
  epoch = -1;
  /** The offsets that former owners finished ahead, where that is known of later leaders as well. */
  #holdsLonger: readonly FinishedBefore[] = [];

  /** @param former what the commit at this position says, and what else is known of former owners */
  constructor(
    position: number,
    committed: number | undefined,
    ...former: readonly Pick<CommitMetadata, 'epoch' | 'ahead'>[]
  ) {
    const ahead = former.filter((each): each is FinishedBefore => each.ahead !== undefined);
    this.tracker = new OffsetTracker(position, this.#believe(ahead, former[0]?.epoch ?? -1));
    this.committed = committed;
  }

  /**
   * Takes a record into account, as `OffsetTracker.add`.
   * @param epoch of the leader that wrote the record
   */
  add(offset: number, epoch: number, sizeBytes: number, appendTimeMs: number): number | undefined {
    this.#heed(epoch);
    return this.tracker.add(offset, sizeBytes, appendTimeMs);
  }

  /**
   * Passes markers and aborted records, which no stage gets.
   * @param epoch of the leader that wrote the last of them
   */
  skipTo(offset: number, epoch: number): void {
    this.#heed(epoch);
    this.tracker.skipTo(offset);
  }

  /** Does the same as `OffsetTracker.cutOff`. */
  cutOff(offset: number): void {
    this.#holdsLonger = [];
    this.tracker.cutOff(offset);
  }

  /** A newer epoch may show that the log was cut off, and what comes is not what a former owner finished. */
  #heed(epoch: number): void {
    if (epoch <= this.epoch) return;
    const holds = this.#holdsLonger.filter((each) => each.epoch >= epoch);
    this.tracker.replaceAhead(this.#believe(holds, epoch));
  }

  /** @param epoch where nothing was finished ahead */
  #believe(former: readonly FinishedBefore[], epoch: number): FinishedAhead | undefined {
    this.epoch = former.length === 0 ? epoch : Math.min(...former.map((each) => each.epoch));
    this.#holdsLonger = former.filter((each) => each.epoch > this.epoch);
    const [first, ...others] = former.map(({ ahead }) => ahead);
    return first === undefined ? undefined : others.reduce(eitherOf, first);
  }

  finish(slot: number): void {
    if (!this.tracker.finish(slot)) return;
    this.onSettled?.();
    this.onFinished?.();
  }

  release(slot: number): void {
    if (this.tracker.release(slot)) this.onSettled?.();
  }

  setAside(slot: number): void {
    if (this.tracker.setAside(slot)) this.onSettled?.();
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

  /** The finished prefix has moved, or something behind it was finished. */
  get isDue(): boolean {
    const { tracker } = this;
    return tracker.finishedUpTo !== this.committed || tracker.finishes !== this.committedFinishes;
  }
}

/** Offsets finished ahead, of what leaders up to this epoch have written. */
type FinishedBefore = Pick<CommitMetadata, 'epoch'> & { readonly ahead: FinishedAhead };

/** A commit, and the account's state that it represents. */
export interface DueCommit extends Commit {
  readonly account: Account;
  readonly finishes: number;
}

/** The account that this process had of a partition before it had to let go of it. */
export interface FormerAccount {
  readonly account: Account;
  readonly topicId: string;
}

/** A partition of this member, from the assignment that brings it to the one that takes it away. */
export class OwnedPartition implements TakenPartition, Holding {
  readonly topic: string;
  readonly partition: number;
  readonly limits: WindowLimits;
  /**
   * The cursor that reads the partition; undefined until its position is known, and when the partition is
   * about to be let go of.
   */
  cursor: Cursor | undefined;
  account: Account | undefined;
  readonly #former: FormerAccount | undefined;
  /** The group continued without this member, so another member may have moved the committed offset. */
  isDoubtful = false;
  /** The topic was deleted and created again, so it is read from the beginning. */
  isRemade = false;
  /** The partition moves to another member as soon as nothing of it is in flight. */
  isRevoked = false;
  /** Paused because the window is full. */
  isFull = false;
  /** The part of the window that may be used, as it was when records were last taken or could have been. */
  share = 1;
  highWatermark: number | undefined;

  constructor({ topic, partition }: TopicPartition, limits: WindowLimits, former?: FormerAccount) {
    this.topic = topic;
    this.partition = partition;
    this.limits = limits;
    this.#former = former;
  }

  /** The newest account of this process so far, of a topic that is known. */
  get former(): FormerAccount | undefined {
    const { account, cursor } = this;
    if (account === undefined || cursor?.topicId === undefined) return this.#former;
    return { account, topicId: cursor.topicId };
  }

  get inFlight(): number {
    return this.account?.tracker.inFlight ?? 0;
  }

  get inFlightBytes(): number {
    return this.account?.tracker.inFlightBytes ?? 0;
  }

  get aside(): number {
    return this.account?.tracker.aside ?? 0;
  }

  get asideBytes(): number {
    return this.account?.tracker.asideBytes ?? 0;
  }

  /**
   * Takes records into the account and returns those that are new: at least one of those that come, and no more than
   * have room.
   */
  take(account: Account, records: PartitionRecords, most: number): TakenRecords {
    const taken: TakenRecord[] = [];
    let seen = 0;
    while (seen < most && (seen === 0 || this.#hasRoom(account)) && records.next()) {
      seen += 1;
      const { offset, epoch, sizeBytes, timestampMs } = records;
      const slot = account.add(offset, epoch, sizeBytes, timestampMs);
      if (slot !== undefined) taken.push(new TakenRecord(records, account, slot));
    }
    account.skipTo(records.position, records.epoch);
    return { taken, seen };
  }

  /** Decides whether the intake of this partition must pause now. */
  updateFull(): boolean {
    const { account } = this;
    this.isFull =
      account !== undefined && mustPause(this.isFull, account.tracker, this.limits, this.share);
    return this.isFull;
  }

  #hasRoom({ tracker }: Account): boolean {
    return hasRoom(tracker, this.limits, this.share);
  }

  /** The part of the window that is taken. */
  get fullness(): number {
    const { account, limits, share } = this;
    return account === undefined ? 0 : fullness(account.tracker, limits, share);
  }

  /** The next commit; undefined: nothing new, or another member may have continued from here. */
  takeCommit(): DueCommit | undefined {
    const { topic, partition, account } = this;
    if (account?.isDue !== true || this.isDoubtful) return undefined;
    const { tracker, epoch } = account;
    const { finishedUpTo: offset, finishes } = tracker;
    account.attempted = offset;
    const told = account.isCommittedBare
      ? { ahead: undefined, topicId: undefined }
      : { ahead: tracker.finishedAhead(mostGaps), topicId: this.cursor?.topicId };
    const metadata = encodeCommitMetadata(offset, { epoch, ...told });
    return { topic, partition, offset, metadata, account, finishes };
  }

  /**
   * The number of records not taken in yet that were appended before `timeMs`. Nobody has seen when they were, so it
   * is as if they had come evenly since the last one that was taken in.
   */
  unreadBefore(timeMs: number, nowMs: number): number {
    const { next, newestMs } = this.account?.tracker ?? {};
    if (next === undefined || newestMs === undefined || this.highWatermark === undefined) return 0;
    if (newestMs >= timeMs) return 0;
    const unread = Math.max(0, this.highWatermark - next);
    return (unread * (timeMs - newestMs)) / (nowMs - newestMs);
  }

  /** Records between the finished prefix and the high watermark. */
  get lag(): number {
    const finishedUpTo = this.account?.tracker.finishedUpTo;
    if (finishedUpTo === undefined || this.highWatermark === undefined) return 0;
    return Math.max(0, this.highWatermark - finishedUpTo);
  }
}

export interface TakenRecords {
  readonly taken: TakenRecord[];
  /** Number of records that came, including those that were already known. */
  readonly seen: number;
}

type Tracker = Pick<OffsetTracker, 'next' | 'hasFinished'>;

/**
 * Counts records that come again although this process had finished them: their partition moved away, or its
 * offset was moved back, before they were committed. Former accounts are kept until the partition has passed
 * them. Records that another process finished, or this one before a restart, are not counted.
 */
export class Redeliveries {
  readonly #partitions = new PartitionMap<{ current: Tracker; former: Tracker[] }>();

  /**
   * The number of these new records of one partition, in offset order, that were finished before.
   * @param tracker of the account that they were taken into
   */
  count(
    records: readonly (TopicPartition & { readonly offset: number })[],
    tracker: Tracker,
  ): number {
    const first = records[0];
    if (first === undefined) return 0;
    const known = this.#partitions.get(first.topic, first.partition);
    if (known === undefined) this.#partitions.set(first, { current: tracker, former: [] });
    if (known === undefined) return 0;
    if (known.current !== tracker) {
      known.former.push(known.current);
      known.current = tracker;
    }
    if (known.former.length === 0) return 0;
    known.former = known.former.filter(({ next }) => next > first.offset);
    return records.filter(({ offset }) => known.former.some((each) => each.hasFinished(offset)))
      .length;
  }
}
