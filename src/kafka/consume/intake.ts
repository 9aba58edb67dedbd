import { judgeBatch } from './acceptance.ts';
import type { OffsetRange } from './broker-offsets.ts';
import type { ConsumedRecord } from './consumed-record.ts';
import type { FetchedBatch } from '../kafkajs/fetched-batch.ts';
import { OwnedPartition } from './owned-partition.ts';
import type { Positioned } from './positions.ts';
import { PartitionMap } from '../partition-map.ts';
import type { TopicPartition } from '../record.ts';
import type { WindowLimits } from './window.ts';

/** What the intake tells kafkajs to do. */
export interface FetchControl {
  seek(partition: TopicPartition, offset: number): void;
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
}

export interface IntakeOptions {
  readonly control: FetchControl;
  /** Keeps trying; undefined once the loop stops or nobody wants to know any more. */
  lookUp(
    partitions: readonly OwnedPartition[],
    isVoid: AbortSignal,
  ): Promise<readonly Positioned[] | undefined>;
  limitsOf(topic: string): WindowLimits;
  onRecords(records: ConsumedRecord[]): void;
  onAssigned(partitions: TopicPartition[]): void;
  onLost(partitions: TopicPartition[]): void;
  /** Positions are known. They must be committed where the broker holds none, or one of a reset. */
  onPlaced(): void;
  onDropped(partition: TopicPartition): void;
}

/** Which partitions are this member's, where each is read on, and what of them is accepted. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #partitions = new PartitionMap<OwnedPartition>();
  /** Aborted by the next join: what is looked up for this one is void then. */
  #generation = new AbortController();
  #closing = false;
  #onDrained: (() => void) | undefined;
  joined = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  owned(): Iterable<OwnedPartition> {
    return this.#partitions.values();
  }

  find(topic: string, partition: number): OwnedPartition | undefined {
    return this.#partitions.get(topic, partition);
  }

  get inFlightRecords(): number {
    let sum = 0;
    for (const { account } of this.#partitions.values()) sum += account?.tracker.inFlight ?? 0;
    return sum;
  }

  get inFlightBytes(): number {
    let sum = 0;
    for (const { account } of this.#partitions.values()) sum += account?.tracker.inFlightBytes ?? 0;
    return sum;
  }

  /** Called inside kafkajs's join, before it fetches anything. */
  onJoin(assignment: readonly TopicPartition[]): void {
    this.joined = false;
    this.#generation.abort();
    const { signal } = (this.#generation = new AbortController());
    this.#drop(assignment);
    for (const each of assignment) {
      if (this.find(each.topic, each.partition) !== undefined) continue;
      const partition = new OwnedPartition(each, this.#options.limitsOf(each.topic));
      this.#partitions.set(each, partition);
    }
    const all = [...this.#partitions.values()];
    for (const partition of all) this.#suspend(partition);
    void this.#options.lookUp(all, signal).then((positions) => {
      if (positions === undefined || signal.aborted) return;
      for (const position of positions) this.#place(position);
      this.joined = true;
      this.#options.onAssigned(all.map(plain));
      for (const partition of all) this.#applyPause(partition);
      this.#options.onPlaced();
    });
  }

  onBatch(batch: FetchedBatch): void {
    const partition = this.find(batch.topic, batch.partition);
    // Kafka would accept the commit of a partition that is not ours.
    if (partition?.account === undefined || this.#closing) return;
    const verdict = judgeBatch({
      position: partition.position,
      fetchedOffset: batch.fetchedOffset,
      seekPending: batch.isStale(),
    });
    if (verdict === 'reposition') this.#refuse(partition);
    if (verdict !== 'accept') return;
    const records = partition.accept(partition.account, batch);
    batch.resolve();
    if (records.length > 0) this.#options.onRecords(records);
    this.#applyPause(partition);
  }

  /**
   * Asks for the ends of a topic: for the lag, and to notice that it was made again while it was
   * paused.
   */
  async refresh(
    topic: string,
    ask: () => Promise<ReadonlyMap<number, OffsetRange>>,
  ): Promise<void> {
    const before = [...this.#partitions.values()]
      .filter((partition) => partition.topic === topic)
      .map((partition) => ({
        partition,
        account: partition.account,
        position: partition.position,
      }));
    const ranges = await ask();
    for (const { partition, account, position } of before) {
      const end = ranges.get(partition.partition)?.end;
      if (end === undefined || position === undefined || partition.account !== account) continue;
      partition.highWatermark = Math.max(end, partition.position ?? end);
      // Compared with where it was before the question: it has moved on since.
      if (end < position && partition.positioned) this.reposition(partition);
    }
  }

  /** Looks the position of a partition up again, because the one that is known is in doubt. */
  reposition(partition: OwnedPartition): void {
    const { signal } = this.#generation;
    this.#suspend(partition);
    void this.#options.lookUp([partition], signal).then((positions) => {
      if (positions?.[0] === undefined || signal.aborted) return;
      this.#place(positions[0]);
      this.#applyPause(partition);
      this.#options.onPlaced();
    });
  }

  hold({ topic, partition }: TopicPartition, held: boolean): void {
    const owned = this.find(topic, partition);
    if (owned === undefined) return;
    owned.held = held;
    this.#applyPause(owned);
  }

  /** Accepts nothing more; resolves when all that was accepted is finished. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const partition of this.#partitions.values()) this.#applyPause(partition);
    if (this.inFlightRecords === 0) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
  }

  /** Partitions that went to somebody else, with all that is known of them. */
  #drop(assignment: readonly TopicPartition[]): void {
    const kept = new Set(assignment.map(({ topic, partition }) => `${topic}/${partition}`));
    const lost: TopicPartition[] = [];
    for (const partition of [...this.#partitions.values()]) {
      if (kept.has(`${partition.topic}/${partition.partition}`)) continue;
      this.#partitions.delete(partition);
      if (partition.account !== undefined) partition.account.onFinished = undefined;
      // kafkajs keeps pause state over rebalances, until the partition comes back.
      this.#options.control.resume(partition);
      lost.push(plain(partition));
    }
    if (lost.length > 0) this.#options.onLost(lost);
    if (this.inFlightRecords === 0) this.#onDrained?.();
  }

  /** Takes nothing of it until its position is known. */
  #suspend(partition: OwnedPartition): void {
    partition.positioned = false;
    this.#options.control.pause(partition);
    partition.paused = true;
  }

  /** kafkajs read from somewhere else: after a reset to the earliest, or before the last seek. */
  #refuse(partition: OwnedPartition): void {
    this.#options.onDropped(plain(partition));
    this.reposition(partition);
  }

  #place({ partition, account, overruled }: Positioned): void {
    const former = partition.account;
    if (overruled) this.#options.onLost([plain(partition)]);
    if (former !== undefined && former !== account) {
      former.onFinished = undefined;
      partition.full = false;
    }
    partition.account = account;
    partition.positioned = true;
    this.#options.control.seek(partition, account.tracker.next);
  }

  #applyPause(partition: OwnedPartition): void {
    const { account } = partition;
    const pause =
      partition.updateFull() || !partition.positioned || partition.held || this.#closing;
    if (account !== undefined) {
      account.onFinished = pause
        ? () => {
            this.#onFinished(partition);
          }
        : undefined;
    }
    if (pause === partition.paused) return;
    partition.paused = pause;
    if (pause) this.#options.control.pause(partition);
    else this.#options.control.resume(partition);
  }

  /** Called for every finished record of a paused partition. */
  #onFinished(partition: OwnedPartition): void {
    if (this.#closing) {
      if (this.inFlightRecords === 0) this.#onDrained?.();
    } else if (partition.full && !partition.updateFull()) {
      this.#applyPause(partition);
    }
  }
}

function plain({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition };
}
