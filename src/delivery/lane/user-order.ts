import type { Job } from '../job.ts';
import { JobsByUser } from './jobs-by-user.ts';

/** So many jobs of one user may wait behind the first; one user must not fill a lane. */
const maxFollowers = 32;

export type Turn = 'now' | 'follows' | 'crowded';

/** Lets first attempts of one user go out one after the other, and those of different users side by side. */
export class UserOrder {
  /** The job of each user that is queued or in flight; further ones are its followers. */
  readonly #first = new JobsByUser();

  /** `follows`: the job waits here and comes out of `advance`. `crowded`: it was not taken. */
  enter(job: Job): Turn {
    const { user } = job;
    if (user === undefined) return 'now';
    const first = this.#first.get(user);
    if (first === undefined) {
      this.#first.add(user, job);
      return 'now';
    }
    first.followers ??= [];
    // A dedicated topic has nowhere else to put it, and pauses by itself when its window is full.
    if (first.followers.length >= maxFollowers && !job.claim.dedicated) return 'crowded';
    first.followers.push(job);
    return 'follows';
  }

  /** The user's job is done with here. Returns the one whose turn it is now. */
  advance(job: Job): Job | undefined {
    const { user, followers } = job;
    if (user === undefined || this.#first.get(user) !== job) return undefined;
    this.#first.remove(user);
    const next = followers?.shift();
    if (next === undefined) return undefined;
    next.followers = followers;
    this.#first.add(user, next);
    return next;
  }

  /** Takes out those who wait behind a job that stays. */
  takeFollowers(): Job[] {
    const taken: Job[] = [];
    for (const first of this.#first) {
      if (first.followers !== undefined) taken.push(...first.followers);
      first.followers = undefined;
    }
    return taken;
  }
}
