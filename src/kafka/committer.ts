import type { Clock, Timer } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { PartitionOffset } from './consumer-session.ts';
import { reasonOf } from './keep-trying.ts';
import type { OwnedPartition } from './owned-partition.ts';

export interface CommitterOptions {
  owned(): Iterable<OwnedPartition>;
  find(topic: string, partition: number): OwnedPartition | undefined;
  send(offsets: readonly PartitionOffset[]): Promise<void>;
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
  private readonly options: CommitterOptions;
  private timer: Timer | undefined;

  constructor(options: CommitterOptions) {
    this.options = options;
  }

  start(): void {
    this.timer = this.options.clock.after(everyMs, () => {
      void this.commit().then(() => {
        if (this.timer !== undefined) this.start();
      });
    });
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Never rejects: what failed is sent again with the next one. */
  async commit(): Promise<void> {
    const due = this.take();
    if (due.length === 0) return;
    try {
      await this.options.send(due);
    } catch (error) {
      this.options.log.debug({ reason: reasonOf(error) }, 'offsets are not committed yet');
      this.options.onFailed?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The broker has them. */
  committed(offsets: readonly PartitionOffset[]): void {
    for (const { topic, partition, offset } of offsets) {
      const account = this.options.find(topic, partition)?.account;
      // A commit of an account that was replaced meanwhile is none of its successor's.
      if (account?.attempted === undefined || offset > account.attempted) continue;
      account.committed = Math.max(account.committed ?? offset, offset);
    }
  }

  private take(): PartitionOffset[] {
    const due: PartitionOffset[] = [];
    for (const { topic, partition, positioned, account } of this.options.owned()) {
      const offset = account?.tracker.finishedUpTo;
      if (!positioned || account === undefined || offset === undefined) continue;
      if (offset === account.committed) continue;
      account.attempted = offset;
      due.push({ topic, partition, offset });
    }
    return due;
  }
}
