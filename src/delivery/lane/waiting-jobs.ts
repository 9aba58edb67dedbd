import { ageFromMs } from '../../event/envelope.ts';
import type { Job } from '../job.ts';
import { JobQueue } from './job-queue.ts';
import type { Turn } from './slots.ts';
import { UserOrder } from './user-order.ts';

/**
 * The waiting jobs of a lane: those that have no time left, those that have come back from a retry topic,
 * fresh ones, and each user's order.
 */
export class WaitingJobs {
  readonly #urgent = new JobQueue();
  readonly #returned = new JobQueue();
  readonly #fresh = new JobQueue();
  readonly #users = new UserOrder();
  #size = 0;
  #queued = 0;
  #returnedSize = 0;

  /** All waiting jobs, including those that wait for another job of their user. */
  get size(): number {
    return this.#size;
  }

  /** Waiting jobs that could start with a slot. */
  get queued(): number {
    return this.#queued;
  }

  /** Waiting jobs that have come back from a retry topic, or go first for another reason. */
  get returned(): number {
    return this.#returnedSize;
  }

  /** The start of the oldest age and the first deadline, of the jobs whose turn is next. */
  earliest(): { readonly oldestMs: number; readonly deadlineMs: number } | undefined {
    let earliest: { oldestMs: number; deadlineMs: number } | undefined;
    for (const { first } of [this.#urgent, this.#returned, this.#fresh]) {
      if (first === undefined) continue;
      const { envelope, deadlineMs = Infinity } = first;
      earliest ??= { oldestMs: Infinity, deadlineMs: Infinity };
      earliest.oldestMs = Math.min(earliest.oldestMs, ageFromMs(envelope));
      earliest.deadlineMs = Math.min(earliest.deadlineMs, deadlineMs);
    }
    return earliest;
  }

  /** Whether a job could start with a slot. */
  hasFor(turn: Turn): boolean {
    return this.#queueFor(turn) !== undefined;
  }

  get hasUrgent(): boolean {
    return !this.#urgent.isEmpty;
  }

  add(job: Job): void {
    this.#size += 1;
    if (isAhead(job)) this.#returnedSize += 1;
    if (this.#users.enter(job)) this.#enqueue(job);
  }

  /** The longest row of jobs of one user since none was waiting. */
  get longestLine(): number {
    return this.#users.longest;
  }

  /** How many jobs of its user go before a job that comes now. */
  aheadOf(job: Job): number {
    return this.#users.aheadOf(job);
  }

  next(turn: Turn): Job | undefined {
    const job = this.#queueFor(turn)?.shift();
    if (job === undefined) return undefined;
    this.#size -= 1;
    this.#queued -= 1;
    if (isAhead(job)) this.#returnedSize -= 1;
    return job;
  }

  /** Puts a job from `next` back, before all others of its kind. */
  putBack(job: Job): void {
    this.#size += 1;
    this.#queued += 1;
    if (isAhead(job)) this.#returnedSize += 1;
    this.#queueOf(job).putBack(job);
  }

  /** The job has ended, so the next one of its user may go. */
  release(job: Job): void {
    const next = this.#users.advance(job);
    if (next !== undefined) this.#enqueue(next);
  }

  /** In no order. */
  *all(): Generator<Job, void, undefined> {
    yield* this.#urgent;
    yield* this.#returned;
    yield* this.#fresh;
    yield* this.#users.followers();
  }

  /** Everything, a user's jobs in their order. */
  takeAll(): Job[] {
    const jobs: Job[] = [];
    for (const queue of [this.#urgent, this.#returned, this.#fresh]) {
      for (const first of queue.clear()) {
        for (let job: Job | undefined = first; job !== undefined; job = this.#users.advance(job))
          jobs.push(job);
      }
    }
    for (const follower of this.#users.takeFollowers()) jobs.push(follower);
    this.#size -= jobs.length;
    this.#queued = 0;
    this.#returnedSize = 0;
    return jobs;
  }

  /** Jobs that came back go before fresh ones, where they may start. */
  #queueFor(turn: Turn): JobQueue | undefined {
    if (!this.#urgent.isEmpty) return this.#urgent;
    const returned = this.#returned.first;
    if (returned !== undefined && this.#isTurnOf(returned, turn)) return this.#returned;
    return this.#fresh.isEmpty ? undefined : this.#fresh;
  }

  #isTurnOf({ isRetry }: Job, turn: Turn): boolean {
    if (turn === 'any') return true;
    return turn === 'fresh-before' ? this.#fresh.isEmpty : !isRetry;
  }

  #queueOf({ urgent, hasReturned }: Job): JobQueue {
    if (urgent) return this.#urgent;
    return hasReturned ? this.#returned : this.#fresh;
  }

  #enqueue(job: Job): void {
    this.#queued += 1;
    this.#queueOf(job).push(job);
  }
}

/** Whether it goes before fresh jobs. */
function isAhead({ hasReturned, urgent }: Job): boolean {
  return hasReturned || urgent;
}
