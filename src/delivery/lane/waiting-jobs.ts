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
  #returnedSize = 0;

  /** With those that wait for another job of their user. */
  get size(): number {
    return this.#size;
  }

  /** Of them, those that have come back from a retry topic, or go first for another reason. */
  get returned(): number {
    return this.#returnedSize;
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

  /** False if too many of the job's user wait already; it was not taken then. */
  add(job: Job): boolean {
    const turn = this.#users.enter(job);
    if (turn === 'crowded') return false;
    this.#size += 1;
    if (turn === 'now') this.#enqueue(job);
    return true;
  }

  /** Without regard to its user's order. */
  addAnyway(job: Job): void {
    this.#size += 1;
    this.#enqueue(job);
  }

  /** Returned ones go first, unless it is not a retry's turn. */
  next(turn: Turn): Job | undefined {
    const returned = this.#returned.first;
    if (returned === undefined || !this.#isTurnOf(returned, turn)) {
      const job = this.#fresh.shift();
      if (job !== undefined) this.#size -= 1;
      return job;
    }
    this.#size -= 1;
    this.#returnedSize -= 1;
    return this.#returned.shift();
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
    this.#returnedSize = 0;
    return jobs;
  }

  #isTurnOf(returned: Job, turn: Turn): boolean {
    if (turn === 'any' || returned.urgent) return true;
    return turn === 'fresh-before' ? this.#fresh.isEmpty : !isPlainRetry(returned);
  }

  #enqueue(job: Job): void {
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
