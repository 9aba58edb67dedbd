import type { SteadyClock, Timer } from '../ops/clock.ts';
import { releaseRevoked } from './job.ts';
import type { Job } from './job.ts';

/** Time between two checks of the waiting jobs. */
const pollMs = 50;

/**
 * Events of destinations whose configuration this worker has not read as far as the router had. Later events
 * for the same destination wait behind them, so that nothing overtakes an older event of its user.
 */
export class AwaitingConfig {
  readonly #clock: SteadyClock;
  readonly #admit: (job: Job) => boolean;
  readonly #byDestination = new Map<string, Job[]>();
  #timer: Timer | undefined;

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
    for (const jobs of this.#byDestination.values()) yield* jobs;
  }

  add(job: Job): void {
    job.awaitsConfigSinceMs = this.#clock.steadyNow();
    const { destinationId } = job.envelope;
    const jobs = this.#byDestination.get(destinationId);
    if (jobs === undefined) this.#byDestination.set(destinationId, [job]);
    else jobs.push(job);
    this.#timer ??= this.#clock.after(pollMs, this.#look);
  }

  /** Another worker delivers the waiting events of revoked partitions. */
  releaseRevoked(): void {
    this.#replaceAll(releaseRevoked);
  }

  /** The worker stops. */
  releaseAll(): void {
    this.#timer?.cancel();
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

  #replaceAll(replace: (jobs: readonly Job[]) => Job[]): void {
    for (const [id, jobs] of this.#byDestination) {
      const kept = replace(jobs);
      if (kept.length > 0) this.#byDestination.set(id, kept);
      else this.#byDestination.delete(id);
    }
  }
}
