import { asError } from '../../errors.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { isRefused, reasonOf } from '../failure.ts';
import { refusalPauseMs } from '../retrying.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import type { Commit, CommitAnswer } from './coordinator.ts';
import type { DueCommit, OwnedPartition } from './owned-partition.ts';

export interface CommitterOptions {
  owned(): Iterable<OwnedPartition>;
  send(commits: readonly Commit[]): Promise<readonly CommitAnswer[]>;
  readonly clock: Clock;
  readonly log: Logger;
  onFailed?(error: Error): void;
}

/**
 * A crash repeats what was finished in this time, or so many records if that is less, and what was finished
 * while the commit was under way, beside what was in flight.
 */
const everyMs = 200;
export const mostFinished = 2_000;

/**
 * A commit with one of these errors fails again, however often this member repeats it. Not so one of a former
 * generation: this member may be about to hear of the present one, in which it still has the partition.
 */
const hopeless: ReadonlySet<KafkaErrorName> = new Set<KafkaErrorName>([
  'UNKNOWN_MEMBER_ID',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
]);

/** Commits what is finished of every partition, five times a second or as often as much is finished, in one request. */
export class Committer {
  readonly #options: CommitterOptions;
  /** Set from when something may be due until a commit begins. */
  #timer: Timer | undefined;
  #isCommitting = false;
  /** Records since the last commit began. */
  #finished = 0;
  #isStopped = false;
  /** The number of times in a row that Kafka's ACLs have refused all of a commit. */
  #refusals = 0;
  /** One at a time, so that an older one never comes after a newer. */
  #sending: Promise<boolean> = Promise.resolve(true);

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /** One more record is finished. */
  finished(): void {
    this.#finished += 1;
    if (this.#finished < mostFinished || this.#refusals > 0) this.soon();
    else this.#now();
  }

  /** There may be something new to commit. While there is nothing, no timer runs. */
  soon(): void {
    if (this.#timer !== undefined || this.#isCommitting || this.#isStopped) return;
    const waitMs = this.#refusals === 0 ? everyMs : refusalPauseMs(this.#refusals);
    this.#timer = this.#options.clock.after(waitMs, () => {
      this.#now();
    });
  }

  /** From now on it commits only when asked to. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * Commits what is due when earlier commits are done. Never rejects: what failed is sent with the next
   * commit.
   * @returns whether the broker has everything that it accepts from this member
   */
  async commit(): Promise<boolean> {
    this.#sending = this.#sending.then(() => this.#commit());
    return this.#sending;
  }

  #now(): void {
    if (this.#isCommitting || this.#isStopped) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isCommitting = true;
    void this.commit().then(() => {
      this.#isCommitting = false;
      if (this.#isAnythingDue()) this.soon();
    });
  }

  /** It was finished during the commit, was refused, or belongs to a partition in doubt. */
  #isAnythingDue(): boolean {
    for (const { account } of this.#options.owned()) if (account?.isDue === true) return true;
    return false;
  }

  async #commit(): Promise<boolean> {
    this.#finished = 0;
    const due: DueCommit[] = [];
    for (const owned of this.#options.owned()) {
      const commit = owned.takeCommit();
      if (commit !== undefined) due.push(commit);
    }
    if (due.length === 0) return true;
    try {
      const answers = await this.#options.send(due);
      for (const { topic, partition, error } of answers) {
        const commit = due.find((each) => each.topic === topic && each.partition === partition);
        commit?.account.answered(error, commit);
      }
      const failures = answers.filter(({ error }) => error !== 'NONE');
      this.#refusals = answers.every(({ error }) => isRefused(error)) ? this.#refusals + 1 : 0;
      if (failures[0] !== undefined)
        this.#failed(new KafkaAnswerError(failures[0].error, 'a commit'));
      return failures.every(({ error }) => hopeless.has(error));
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    this.#options.log.debug({ reason: reasonOf(error) }, 'offsets are not committed yet');
    this.#options.onFailed?.(asError(error));
  }
}
