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

const fewestBuckets = 16;

/**
 * One job for each user, as a hash table whose links are in the jobs. Not a Map: where keys come and go, V8
 * moves a Map to a new table every few keys, and the old table refers to the new one. After one full
 * collection, all later tables, and with them every job that was ever in one, survive young collections until
 * the next full one.
 */
export class JobsByUser {
  #buckets = emptyBuckets(fewestBuckets);
  #size = 0;

  get(user: number): Job | undefined {
    let job = this.#buckets[this.#bucketOf(user)];
    while (job !== undefined && job.user !== user) job = job.nextInBucket;
    return job;
  }

  /** The user must have no job in the table yet. */
  add(user: number, job: Job): void {
    if (this.#size === this.#buckets.length) this.#grow();
    this.#size += 1;
    this.#put(user, job);
  }

  remove(user: number): void {
    const bucket = this.#bucketOf(user);
    let before: Job | undefined;
    let job = this.#buckets[bucket];
    while (job !== undefined && job.user !== user) {
      before = job;
      job = job.nextInBucket;
    }
    if (job === undefined) return;
    if (before === undefined) this.#buckets[bucket] = job.nextInBucket;
    else before.nextInBucket = job.nextInBucket;
    job.nextInBucket = undefined;
    this.#size -= 1;
  }

  *[Symbol.iterator](): Generator<Job> {
    for (const first of this.#buckets)
      for (let job = first; job !== undefined; job = job.nextInBucket) yield job;
  }

  #put(user: number, job: Job): void {
    const bucket = this.#bucketOf(user);
    job.nextInBucket = this.#buckets[bucket];
    this.#buckets[bucket] = job;
  }

  #grow(): void {
    const jobs = [...this];
    this.#buckets = emptyBuckets(2 * this.#buckets.length);
    for (const job of jobs) if (job.user !== undefined) this.#put(job.user, job);
  }

  /** The number of buckets is a power of two. */
  #bucketOf(user: number): number {
    return user & (this.#buckets.length - 1);
  }
}

function emptyBuckets(count: number): (Job | undefined)[] {
  return new Array<Job | undefined>(count).fill(undefined);
}
