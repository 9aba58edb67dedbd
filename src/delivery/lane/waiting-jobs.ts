import { ageFromMs } from '../../event/envelope.ts';
import type { Job } from '../job.ts';
import { JobQueue } from './job-queue.ts';
import type { Turn } from './slots.ts';
import { UserOrder } from './user-order.ts';

/** What waits in a lane: those that have come back from a retry topic, fresh ones, and each user's order. */
export class WaitingJobs {
  readonly #fresh = new JobQueue();
  readonly #returned = new JobQueue();
  readonly #users = new UserOrder();
  #size = 0;
  #queued = 0;
  #returnedSize = 0;

  /** With those that wait for another job of their user. */
  get size(): number {
    return this.#size;
  }

  /** Without them: what could start with a slot. */
  get queued(): number {
    return this.#queued;
  }

  /** Of them, those that have come back from a retry topic, or go first for another reason. */
  get returned(): number {
    return this.#returnedSize;
  }

  /** From when the age of the oldest one runs, and the first deadline: of those whose turn is next. */
  earliest(): { readonly oldestMs: number; readonly deadlineMs: number } | undefined {
    let earliest: { oldestMs: number; deadlineMs: number } | undefined;
    for (const { first } of [this.#fresh, this.#returned]) {
      if (first === undefined) continue;
      const { envelope, deadlineMs = Infinity } = first;
      earliest ??= { oldestMs: Infinity, deadlineMs: Infinity };
      earliest.oldestMs = Math.min(earliest.oldestMs, ageFromMs(envelope));
      earliest.deadlineMs = Math.min(earliest.deadlineMs, deadlineMs);
    }
    return earliest;
  }

  /** Whether one could start with a slot. */
  hasFor(turn: Turn): boolean {
    if (this.#fresh.first !== undefined) return true;
    const returned = this.#returned.first;
    return returned !== undefined && !(turn === 'no-retry' && isPlainRetry(returned));
  }

  get hasUrgent(): boolean {
    return this.#returned.first?.urgent === true;
  }

  add(job: Job): void {
    this.#size += 1;
    if (this.#users.enter(job)) this.#enqueue(job);
  }

  /** The most that one user has had waiting behind each other since nobody did. */
  get longestLine(): number {
    return this.#users.longest;
  }

  /** How many of its user go before a job that comes now. */
  aheadOf(job: Job): number {
    return this.#users.aheadOf(job);
  }

  /** Returned ones go first, unless it is not a retry's turn. */
  next(turn: Turn): Job | undefined {
    const returned = this.#returned.first;
    if (returned === undefined || !this.#isTurnOf(returned, turn)) {
      const job = this.#fresh.shift();
      if (job === undefined) return undefined;
      this.#size -= 1;
      this.#queued -= 1;
      return job;
    }
    this.#size -= 1;
    this.#queued -= 1;
    this.#returnedSize -= 1;
    return this.#returned.shift();
  }

  /** One that `next` gave, and that goes first again. */
  putBack(job: Job): void {
    this.#size += 1;
    this.#queued += 1;
    if (job.hasReturned || job.urgent) {
      this.#returnedSize += 1;
      this.#returned.putBack(job);
    } else this.#fresh.putBack(job);
  }

  /** The job is done with here: the next one of its user may go. */
  release(job: Job): void {
    const next = this.#users.advance(job);
    if (next !== undefined) this.#enqueue(next);
  }

  /** Everything, a user's jobs in their order. */
  takeAll(): Job[] {
    const jobs: Job[] = [];
    for (const first of [...this.#returned.clear(), ...this.#fresh.clear()]) {
      for (let job: Job | undefined = first; job !== undefined; job = this.#users.advance(job))
        jobs.push(job);
    }
    jobs.push(...this.#users.takeFollowers());
    this.#size -= jobs.length;
    this.#queued = 0;
    this.#returnedSize = 0;
    return jobs;
  }

  #isTurnOf(returned: Job, turn: Turn): boolean {
    if (turn === 'any' || returned.urgent) return true;
    return turn === 'fresh-before' ? this.#fresh.isEmpty : !isPlainRetry(returned);
  }

  #enqueue(job: Job): void {
    this.#queued += 1;
    if (job.hasReturned || job.urgent) {
      this.#returnedSize += 1;
      this.#returned.push(job);
    } else this.#fresh.push(job);
  }
}

/** With time for another attempt later. */
function isPlainRetry(job: Job): boolean {
  return job.isRetry && !job.urgent;
}
