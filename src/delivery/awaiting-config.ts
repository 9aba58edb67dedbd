import type { SteadyClock, Timer } from '../ops/clock.ts';
import { releaseRevoked } from './job.ts';
import type { Claim, Job } from './job.ts';

/** Time between two checks of the waiting jobs. */
const pollMs = 50;

/**
 * Events that no lane can have yet: of destinations whose configuration this worker has not read as far as the router had,
 * and, where they keep their places, of destinations that are paused. Later events for the same destination wait behind
 * them, so that nothing overtakes an older event of its user.
 */
export class AwaitingConfig {
  readonly #clock: SteadyClock;
  readonly #admit: (job: Job) => boolean;
  /** By partition, because what keeps the first event of one need not keep that of another. */
  readonly #byDestination = new Map<string, Map<Claim, Job[]>>();
  #timer: Timer | undefined;
  #isClosed = false;

  /** @param admit takes a job if it may go; false: the job has to wait longer */
  constructor(clock: SteadyClock, admit: (job: Job) => boolean) {
    this.#clock = clock;
    this.#admit = admit;
  }

  /** An event that comes for the destination has to wait behind others. */
  has(destinationId: string): boolean {
    return this.#byDestination.size > 0 && this.#byDestination.has(destinationId);
  }

  *all(): Generator<Job, void, undefined> {
    for (const byClaim of this.#byDestination.values())
      for (const jobs of byClaim.values()) yield* jobs;
  }

  add(job: Job): void {
    job.awaitsConfigSinceMs = this.#clock.steadyNow();
    this.#of(job).push(job);
    this.#timer ??= this.#clock.after(pollMs, this.#look);
  }

  /** Takes jobs, in order, that were with their lane before what waits here came. */
  putBack(jobs: readonly Job[]): void {
    if (this.#isClosed) {
      for (const { record } of jobs) record.release();
      return;
    }
    for (const job of jobs.toReversed()) {
      job.awaitsConfigSinceMs = this.#clock.steadyNow();
      this.#of(job).unshift(job);
    }
    this.#timer ??= this.#clock.after(pollMs, this.#look);
  }

  /** Another worker delivers the waiting events of revoked partitions. */
  releaseRevoked(): void {
    this.#replaceAll(releaseRevoked);
  }

  /** The worker stops. */
  releaseAll(): void {
    this.#timer?.cancel();
    this.#isClosed = true;
    this.#replaceAll((jobs) => {
      for (const { record } of jobs) record.release();
      return [];
    });
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    this.#replaceAll((jobs) => {
      const firstToWait = jobs.findIndex((job) => !this.#admit(job));
      return firstToWait < 0 ? [] : jobs.slice(firstToWait);
    });
    if (this.#byDestination.size > 0) this.#timer = this.#clock.after(pollMs, this.#look);
  };

  #of({ claim, envelope: { destinationId } }: Job): Job[] {
    let byClaim = this.#byDestination.get(destinationId);
    if (byClaim === undefined) {
      byClaim = new Map();
      this.#byDestination.set(destinationId, byClaim);
    }
    const jobs = byClaim.get(claim) ?? [];
    byClaim.set(claim, jobs);
    return jobs;
  }

  #replaceAll(replace: (jobs: readonly Job[]) => readonly Job[]): void {
    for (const [id, byClaim] of this.#byDestination) {
      for (const [claim, jobs] of byClaim) {
        const kept = [...replace(jobs)];
        if (kept.length > 0) byClaim.set(claim, kept);
        else byClaim.delete(claim);
      }
      if (byClaim.size === 0) this.#byDestination.delete(id);
    }
  }
}
