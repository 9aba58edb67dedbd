import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { mayKeepTracker, noCommit } from './acceptance.ts';
import type { PartitionOffset } from './consumer-session.ts';
import { reasonOf } from '../keep-trying.ts';
import type { OwnedPartition } from './owned-partition.ts';
import type { TopicPartition } from '../record.ts';

export interface CommitterOptions {
  owned(): Iterable<OwnedPartition>;
  find(topic: string, partition: number): OwnedPartition | undefined;
  send(offsets: readonly PartitionOffset[]): Promise<void>;
  /** What the broker holds, by topic and partition: at least of these. */
  held(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;
  /** The broker holds something else than this member committed. */
  onMoved(partition: OwnedPartition): void;
  readonly clock: Clock;
  readonly log: Logger;
  onFailed?(error: Error): void;
}

const everyMs = 1_000;

/**
 * Commits the finished prefix of every partition once a second, all in one call. A partition where
 * nothing was ever committed gets its position committed at once: a missing commit then means that
 * the topic was deleted, with the group's offsets, and made again.
 */
export class Committer {
  readonly #options: CommitterOptions;
  #timer: Timer | undefined;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.clock.after(everyMs, () => {
      void this.commitWhatIsOurs().then(() => {
        if (this.#timer !== undefined) this.start();
      });
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Commits where the broker still holds the last commit. A topic may be deleted, made again and
   * filled between two fetches, so that kafkajs reads on in the middle of it without an error; a
   * commit would then hide the only sign of it. Never rejects.
   */
  async commitWhatIsOurs(): Promise<void> {
    const due = [...this.#options.owned()].filter(isDue);
    if (due.length === 0) return;
    try {
      const held = await this.#options.held(due);
      for (const partition of due) {
        const onBroker = held.get(partition.topic)?.get(partition.partition) ?? noCommit;
        if (partition.account === undefined || !partition.positioned) continue;
        if (!mayKeepTracker(partition.account, onBroker)) this.#options.onMoved(partition);
      }
    } catch (error) {
      this.#failed(error);
      return;
    }
    await this.commit();
  }

  /** When there is no time to ask first. Never rejects: what failed is sent again with the next one. */
  async commit(): Promise<void> {
    const due = this.#take();
    if (due.length === 0) return;
    try {
      await this.#options.send(due);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The broker has them. */
  committed(offsets: readonly PartitionOffset[]): void {
    for (const { topic, partition, offset } of offsets) {
      const account = this.#options.find(topic, partition)?.account;
      // A commit of an account that was replaced meanwhile is none of its successor's.
      if (account?.attempted === undefined || offset > account.attempted) continue;
      account.committed = Math.max(account.committed ?? offset, offset);
    }
  }

  #take(): PartitionOffset[] {
    const due: PartitionOffset[] = [];
    for (const owned of this.#options.owned()) {
      const { topic, partition, account } = owned;
      if (account === undefined || !isDue(owned)) continue;
      const offset = account.tracker.finishedUpTo;
      account.attempted = offset;
      due.push({ topic, partition, offset });
    }
    return due;
  }

  #failed(error: unknown): void {
    this.#options.log.debug({ reason: reasonOf(error) }, 'offsets are not committed yet');
    this.#options.onFailed?.(error instanceof Error ? error : new Error(String(error)));
  }
}

function isDue({ positioned, account }: OwnedPartition): boolean {
  return positioned && account !== undefined && account.tracker.finishedUpTo !== account.committed;
}
