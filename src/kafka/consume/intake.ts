import type { Logger } from '../../ops/log.ts';
import { Cursor, type PartitionRecords } from '../fetch/cursor.ts';
import type { CursorOwner, Fetcher } from '../fetch/fetcher.ts';
import type { Move } from '../fetch/judge-part.ts';
import { waitAtMost } from '../../ops/wait.ts';
import { reasonOf } from '../failure.ts';
import { PartitionMap, type TopicPartition } from '../record.ts';
import type { TakenPartition, TakenRecord } from './taken-record.ts';
import type { IntakeBudget, WindowLimits } from './window.ts';
import { OwnedPartition, Redeliveries, type FormerAccount } from './owned-partition.ts';
import type { Position } from './positions.ts';

/** The actions that the intake decides on. */
export interface IntakeOptions {
  readonly fetcher: Pick<Fetcher, 'add' | 'remove' | 'pause' | 'resume'>;
  readonly log: Logger;
  readonly maxBytesPerPartition: number;
  /** Keeps trying; undefined once the signal is aborted, or the loop stops. */
  lookUp(
    partitions: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly Position[] | undefined>;
  /** Commits finished records, unless that has become pointless. */
  commit(): Promise<void>;
  /** There may be something new to commit. */
  commitSoon(): void;
  /** Called for every record that is finished. */
  readonly onFinished: () => void;
  /** This member has let go of partitions, which another member may have now. */
  rejoin(): void;
  limitsOf(topic: string): WindowLimits;
  /** The bound on everything that the process has in flight. */
  readonly budget: Pick<IntakeBudget, 'join' | 'leave' | 'share' | 'fetchBytes'>;
  onRecords(records: TakenRecord[], from: TakenPartition): void;
  /** So many records came again although this process had finished them. */
  onRedelivered(records: number): void;
  onAssigned(partitions: TopicPartition[]): void;
  onRevoked(partitions: TopicPartition[]): void;
  onLost(partitions: TopicPartition[]): void;
  onRecordsGone(partition: TopicPartition, records: number): void;
  onUnreadable(partition: TopicPartition): void;
  onRefused(error: Error): void;
  onRefreshed(): void;
}

/** Longer than an attempt, and the copy that is written after it, may take. */
export const drainMs = 8_000;

/**
 * Decides which partitions this member has, where each is read from, and how much is taken in. A partition that
 * moves to another member is let go of in this order: nothing more is taken in, what waits is released, what
 * is under way ends, what is finished is committed, and only then does this member give it up.
 */
export class Intake implements CursorOwner {
  readonly #options: IntakeOptions;
  readonly #partitions = new PartitionMap<OwnedPartition>();
  /** Accounts of what this process has finished: it needs no work when the partition comes back, though nobody committed it. */
  readonly #former = new PartitionMap<FormerAccount>();
  readonly #redeliveries = new Redeliveries();
  #isMember = false;
  #isUnheard = false;
  #isClosing = false;
  /** Aborted by the next assignment. Positions that were looked up for an earlier one are void. */
  #placing = new AbortController();
  #isPlaced = false;
  #drains: { readonly partitions: readonly OwnedPartition[]; resolve(): void }[] = [];

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** All partitions have their positions, and the group has this member. */
  get isJoined(): boolean {
    return this.#isMember && this.#isPlaced;
  }

  owned(): Iterable<OwnedPartition> {
    return this.#partitions.values();
  }

  /**
   * The indices that the group may leave with this member: partitions that no other member may have read
   * meanwhile.
   */
  ownedIndices(): number[] {
    const sure = [...this.owned()].filter(({ isDoubtful }) => !isDoubtful);
    return [...new Set(sure.map(({ partition }) => partition))];
  }

  get inFlightRecords(): number {
    let sum = 0;
    for (const { inFlight } of this.owned()) sum += inFlight;
    return sum;
  }

  /** Takes in nothing more, and revokes everything. Resolves when all that was taken in is settled. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const all = [...this.owned()];
    this.#revoke(all);
    await this.#drained(all);
  }

  /** After `close`, and the last commit: others may have what this member had. */
  end(): void {
    this.#lose([...this.owned()]);
  }

  // Who owns what

  /**
   * In the cooperative protocol, no other member reads a partition of this member before this member has let
   * go of it.
   */
  assigned(assignment: readonly TopicPartition[], isCooperative: boolean): void {
    this.#isMember = true;
    this.#isPlaced = false;
    // Without it, other members may have begun with partitions that are still being handed over.
    if (!isCooperative) this.#lose([...this.owned()].filter(({ isRevoked }) => isRevoked));
    const kept = new Set(
      assignment.map(({ topic, partition }) => this.#partitions.get(topic, partition)),
    );
    const leaving = [...this.owned()].filter((each) => !each.isRevoked && !kept.has(each));
    const mayDrain = (each: OwnedPartition): boolean => isCooperative && !each.isDoubtful;
    this.#lose(leaving.filter((each) => !mayDrain(each)));
    void this.#handOver(leaving.filter(mayDrain));
    for (const each of assignment) {
      if (this.#partitions.get(each.topic, each.partition) !== undefined) continue;
      const former = this.#former.get(each.topic, each.partition);
      const owned = new OwnedPartition(each, this.#options.limitsOf(each.topic), former);
      this.#partitions.set(each, owned);
      this.#options.budget.join(owned);
    }
    void this.#place(this.#unplaced());
  }

  /**
   * The group has continued without this member. Work that is under way goes on, and nothing more is taken
   * in.
   */
  expelled(): void {
    this.#isMember = false;
    this.#placing.abort();
    for (const partition of this.owned()) {
      partition.isDoubtful = true;
      if (partition.cursor !== undefined) this.#options.fetcher.remove(partition.cursor);
    }
  }

  /** Takes in nothing more while the group may have continued without this member. */
  unheard(isUnheard: boolean): void {
    this.#isUnheard = isUnheard;
    for (const partition of this.owned()) this.#applyPause(partition);
  }

  #unplaced(): OwnedPartition[] {
    return [...this.owned()].filter(
      ({ cursor, isDoubtful, isRemade, isRevoked }) =>
        !isRevoked && (cursor === undefined || isDoubtful || isRemade),
    );
  }

  #reading(): TopicPartition[] {
    return [...this.owned()].filter((each) => !each.isRevoked).map(plain);
  }

  /** Partitions whose positions are known do not wait for the others. */
  async #place(partitions: readonly OwnedPartition[]): Promise<void> {
    this.#placing.abort();
    this.#placing = new AbortController();
    const { signal } = this.#placing;
    for (let left = partitions, isTold = false; !isTold || left.length > 0; isTold = true) {
      const positions = left.length === 0 ? [] : await this.#options.lookUp(left, signal);
      if (positions === undefined || signal.aborted) return;
      for (const position of positions) {
        const { partition } = position;
        const isOurs = this.#partitions.get(partition.topic, partition.partition) === partition;
        if (isOurs && !partition.isRevoked) this.#placeAt(position);
      }
      left = this.#unplaced();
      this.#isPlaced = left.length === 0;
      if (!isTold) this.#options.onAssigned(this.#reading());
    }
  }

  #placeAt({ partition, account, epoch, topicId }: Position): void {
    const { fetcher } = this.#options;
    const former = partition.account;
    if (former !== undefined && former !== account) {
      former.onSettled = undefined;
      this.#options.onRevoked([plain(partition)]);
      this.#options.onLost([plain(partition)]);
    }
    if (partition.cursor !== undefined) fetcher.remove(partition.cursor);
    partition.account = account;
    account.onFinished = this.#options.onFinished;
    partition.isDoubtful = false;
    partition.isRemade = false;
    partition.cursor = new Cursor(partition, account.tracker.next, this.#fetchBytes, epoch);
    partition.cursor.topicId = topicId;
    this.#applyPause(partition);
    fetcher.add(partition.cursor);
    // A start that is not committed yet, or what was finished in doubt.
    this.#options.commitSoon();
  }

  async #handOver(partitions: readonly OwnedPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    this.#revoke(partitions);
    await waitAtMost(drainMs, this.#drained(partitions));
    const stillHere = (): OwnedPartition[] =>
      partitions.filter((each) => this.#partitions.get(each.topic, each.partition) === each);
    if (stillHere().length === 0) return;
    await this.#options.commit();
    // Others may be lost by now, and have come back anew.
    this.#lose(stillHere());
    this.#options.rejoin();
  }

  /** Revokes the partitions that were not yet. */
  #revoke(partitions: readonly OwnedPartition[]): void {
    const untold = partitions.filter(({ isRevoked }) => !isRevoked);
    if (untold.length === 0) return;
    for (const partition of untold) {
      partition.isRevoked = true;
      if (partition.cursor !== undefined) this.#options.fetcher.remove(partition.cursor);
    }
    this.#options.onRevoked(untold.map(plain));
  }

  #lose(partitions: readonly OwnedPartition[]): void {
    if (partitions.length === 0) return;
    this.#revoke(partitions);
    for (const partition of partitions) {
      if (partition.account !== undefined) partition.account.onSettled = undefined;
      if (partition.former !== undefined) this.#former.set(partition, partition.former);
      this.#options.budget.leave(partition);
      if (this.#partitions.get(partition.topic, partition.partition) === partition)
        this.#partitions.delete(partition);
    }
    this.#options.onLost(partitions.map(plain));
    this.#tellDrained();
  }

  // Records that arrive

  take(cursor: Cursor, records: PartitionRecords, most: number): number {
    const partition = this.#ownerOf(cursor);
    if (partition?.account === undefined) return 0;
    partition.share = this.#options.budget.share;
    cursor.limitBytes = this.#fetchBytes;
    const { taken, seen } = partition.take(partition.account, records, most);
    const again = this.#redeliveries.count(taken, partition.account.tracker);
    if (again > 0) this.#options.onRedelivered(again);
    if (taken.length > 0) this.#options.onRecords(taken, partition);
    this.#applyPause(partition);
    // Markers, and records that a former owner had finished.
    this.#options.commitSoon();
    return seen;
  }

  highWatermark(cursor: Cursor, offset: number): void {
    const partition = this.#ownerOf(cursor);
    if (partition !== undefined) partition.highWatermark = offset;
  }

  moved(cursor: Cursor, { kind, from, to }: Move): void {
    const partition = this.#ownerOf(cursor);
    if (partition?.account === undefined) return;
    const { account } = partition;
    const place = { topic: cursor.topic, partition: cursor.partition, from, to };
    if (kind === 'removed') {
      account.tracker.skipTo(to);
      this.#options.onRecordsGone(plain(partition), to - from);
      this.#options.log.error(
        place,
        `${to - from} offsets were removed from the log before they were read`,
      );
    } else {
      account.cutOff(to);
      this.#options.log.error(
        place,
        'the log was cut off before the position of this reader; reading continues where it diverged',
      );
    }
    this.#options.commitSoon();
  }

  stuck(cursor: Cursor, problem: Error): void {
    const { topic, partition, offset } = cursor;
    this.#options.onUnreadable(plain(cursor));
    this.#options.log.error(
      { topic, partition, offset, reason: reasonOf(problem) },
      'a batch of records cannot be read; its partition stops before it, and all others continue',
    );
  }

  remade(cursor: Cursor): void {
    const partition = this.#ownerOf(cursor);
    if (partition === undefined || partition.isRevoked) return;
    this.#options.log.warn(
      plain(partition),
      'a topic was deleted and created again; reading it from its beginning',
    );
    partition.isRemade = true;
    if (partition.account !== undefined) partition.account.onSettled = undefined;
    partition.account = undefined;
    this.#options.onRevoked([plain(partition)]);
    this.#options.onLost([plain(partition)]);
    this.#tellDrained();
    void this.#place(this.#unplaced());
  }

  refused(error: Error): void {
    this.#options.onRefused(error);
  }

  refreshed(): void {
    this.#options.onRefreshed();
  }

  get #fetchBytes(): number {
    const { budget, maxBytesPerPartition } = this.#options;
    return budget.fetchBytes(maxBytesPerPartition);
  }

  #ownerOf(cursor: Cursor): OwnedPartition | undefined {
    const partition = this.#partitions.get(cursor.topic, cursor.partition);
    return partition?.cursor === cursor ? partition : undefined;
  }

  // How much is taken in

  #applyPause(partition: OwnedPartition): void {
    const { account, cursor } = partition;
    const mustWait = this.#isClosing || this.#isUnheard;
    const isPaused = partition.updateFull() || mustWait;
    if (account !== undefined) {
      account.onSettled =
        isPaused || partition.isRevoked
          ? () => {
              this.#onSettled(partition);
            }
          : undefined;
    }
    if (cursor === undefined) return;
    if (isPaused) this.#options.fetcher.pause(cursor);
    else this.#options.fetcher.resume(cursor);
  }

  /** Called for every settled record of a partition that is paused or leaves. */
  #onSettled(partition: OwnedPartition): void {
    if (this.#drains.length > 0) this.#tellDrained();
    if (this.#isClosing || !partition.isFull || partition.updateFull()) return;
    // There is room by what was left of the budget before. What is left now is a sum: it is asked for only here.
    partition.share = this.#options.budget.share;
    this.#applyPause(partition);
  }

  /** Resolves when nothing of these partitions is in flight. */
  async #drained(partitions: readonly OwnedPartition[]): Promise<void> {
    for (const partition of partitions) this.#applyPause(partition);
    return new Promise((resolve) => {
      this.#drains.push({ partitions, resolve });
      this.#tellDrained();
    });
  }

  #tellDrained(): void {
    this.#drains = this.#drains.filter((drain) => {
      if (drain.partitions.some(({ inFlight }) => inFlight > 0)) return true;
      drain.resolve();
      return false;
    });
  }
}

function plain({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition };
}
