import type { Job } from '../job.ts';

/** First in, first out. The links are in the jobs, so queueing allocates nothing. */
export class JobQueue {
  #first: Job | undefined;
  #last: Job | undefined;

  get first(): Job | undefined {
    return this.#first;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  *[Symbol.iterator](): Generator<Job, void, undefined> {
    for (let job = this.#first; job !== undefined; job = job.next) yield job;
  }

  push(job: Job): void {
    if (this.#last === undefined) this.#first = job;
    else this.#last.next = job;
    this.#last = job;
  }

  /** Puts a job before all others. */
  putBack(job: Job): void {
    job.next = this.#first;
    this.#first = job;
    this.#last ??= job;
  }

  shift(): Job | undefined {
    const job = this.#first;
    if (job === undefined) return undefined;
    this.#first = job.next;
    if (this.#first === undefined) this.#last = undefined;
    job.next = undefined;
    return job;
  }

  /** Removes and returns everything. */
  clear(): Job[] {
    const jobs: Job[] = [];
    for (let job = this.shift(); job !== undefined; job = this.shift()) jobs.push(job);
    return jobs;
  }
}
