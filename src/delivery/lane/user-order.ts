import type { Job } from '../job.ts';
import { JobsByUser } from './jobs-by-user.ts';

/** Lets first attempts of one user go out one after the other, and those of different users in parallel. */
export class UserOrder {
  /** Each user's job that is queued or in flight. Later jobs of the user are its followers. */
  readonly #first = new JobsByUser();
  #followers = 0;
  #longest = 0;

  /** False: the job waits here, and `advance` returns it later. */
  enter(job: Job): boolean {
    const { user } = job;
    if (user === undefined) return true;
    const first = this.#first.get(user);
    if (first === undefined) {
      this.#first.add(user, job);
      return true;
    }
    first.followers ??= [];
    first.followers.push(job);
    this.#followers += 1;
    this.#longest = Math.max(this.#longest, first.followers.length);
    return false;
  }

  /** How many jobs of its user go before a job that comes now. */
  aheadOf({ user }: Pick<Job, 'user'>): number {
    const first = user === undefined ? undefined : this.#first.get(user);
    return first === undefined ? 0 : 1 + (first.followers?.length ?? 0);
  }

  /** The longest row of jobs of one user since none was waiting. */
  get longest(): number {
    return this.#longest;
  }

  /** The user's job is done with. Returns the user's next one. */
  advance(job: Job): Job | undefined {
    const { user, followers } = job;
    if (user === undefined || this.#first.get(user) !== job) return undefined;
    this.#first.remove(user);
    job.followers = undefined;
    const next = followers?.shift();
    if (next === undefined) return undefined;
    this.#left(1);
    next.followers = followers;
    this.#first.add(user, next);
    return next;
  }

  /** Those who wait behind another job of their user. */
  *followers(): Generator<Job, void, undefined> {
    for (const { followers } of this.#first) if (followers !== undefined) yield* followers;
  }

  /** Takes out those who wait behind a job that stays. */
  takeFollowers(): Job[] {
    const taken: Job[] = [];
    for (const first of this.#first) {
      for (const follower of first.followers ?? []) taken.push(follower);
      first.followers = undefined;
    }
    this.#left(taken.length);
    return taken;
  }

  #left(followers: number): void {
    this.#followers -= followers;
    if (this.#followers === 0) this.#longest = 0;
  }
}
