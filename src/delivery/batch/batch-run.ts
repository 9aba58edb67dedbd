import type { Job } from '../job.ts';

/** Events that go out in one request. */
interface Part {
  readonly jobs: readonly Job[];
  /** The next part is the other half of a batch that was refused for one of its events. */
  readonly isFirstHalf: boolean;
  /** The other half was taken, so the event that is refused is in this one. */
  isRefused: boolean;
}

/** The events that go out in one request, and the run that they are of. */
export interface PartOfRun {
  readonly run: BatchRun;
  readonly jobs: readonly Job[];
}

/** Too many bytes are no fault of one event, so that one half is small enough says nothing of the other one. */
const tooLarge = 413;

/**
 * The way of a batch: one request, or after a refusal one for each half, and so on, until the event that is refused is
 * alone. With one such event among n, these are at most 2·log₂(n) + 1 requests. Parts are sent one after the other, in
 * the order of their events.
 *
 * Until its run is over, an event keeps the place of its user, so two requests in flight never hold the same user.
 */
export class BatchRun {
  #jobs: readonly Job[];
  /** The next part is the last one. */
  readonly #parts: Part[];
  #sent: Part | undefined;

  constructor(jobs: readonly Job[]) {
    this.#jobs = jobs;
    this.#parts = [{ jobs, isFirstHalf: false, isRefused: false }];
  }

  /** All events that have been in it, but for those of `takeRest`. */
  get jobs(): readonly Job[] {
    return this.#jobs;
  }

  /** Nothing of it is left to be sent. */
  get isOver(): boolean {
    return this.#parts.length === 0;
  }

  /** The number of events that wait for the next requests. */
  get size(): number {
    return this.#parts.reduce((events, { jobs }) => events + jobs.length, 0);
  }

  /** The events that wait for the next requests, in their order. */
  *rest(): Generator<Job, void, undefined> {
    for (const { jobs } of this.#parts.toReversed()) yield* jobs;
  }

  /** Takes the events of the next request; none if it is over. */
  next(): readonly Job[] {
    const next = this.#parts.at(-1);
    if (next?.isRefused === true && next.jobs.length > 1) {
      this.#parts.pop();
      this.#halve(next.jobs, true);
    }
    this.#sent = this.#parts.pop();
    return this.#sent?.jobs ?? [];
  }

  /** The endpoint has taken all events of `next`. */
  taken(): void {
    const other = this.#sent?.isFirstHalf === true ? this.#parts.at(-1) : undefined;
    if (other !== undefined) other.isRefused = true;
  }

  /** These events of `next` were refused, for the sake of one of them. */
  refused(jobs: readonly Job[], status: number): void {
    if (jobs.length > 1) this.#halve(jobs, status !== tooLarge);
    else this.again(jobs);
  }

  /** These events of `next` are to go out again. */
  again(jobs: readonly Job[]): void {
    if (jobs.length > 0) this.#parts.push({ jobs, isFirstHalf: false, isRefused: false });
  }

  /**
   * Takes out all events that wait, in their order. They are no part of the run any more.
   * @param onTaken gets each, and the most events that may be in its next request
   */
  takeRest(onTaken: (job: Job, most: number) => void): void {
    const taken = new Set<Job>();
    for (const { jobs, isRefused } of this.#parts.toReversed()) {
      const most = isRefused ? Math.ceil(jobs.length / 2) : jobs.length;
      for (const job of jobs) {
        taken.add(job);
        onTaken(job, most);
      }
    }
    this.#parts.length = 0;
    this.#jobs = this.#jobs.filter((job) => !taken.has(job));
  }

  /** The first half is the smaller one, because it costs more requests to find the event there. */
  #halve(jobs: readonly Job[], isForOne: boolean): void {
    const middle = Math.floor(jobs.length / 2);
    this.#parts.push(
      { jobs: jobs.slice(middle), isFirstHalf: false, isRefused: false },
      { jobs: jobs.slice(0, middle), isFirstHalf: isForOne, isRefused: false },
    );
  }
}

/** The runs of a lane of which something waits. */
export class BatchRuns {
  /** The runs with a part in flight as well as those without. */
  readonly #all = new Set<BatchRun>();
  /** The runs that could send their next part. */
  readonly #ready = new Set<BatchRun>();
  /** Events that were taken out of a run that had been refused. */
  #most: WeakMap<Job, number> | undefined;

  get areReady(): boolean {
    return this.#ready.size > 0;
  }

  /** The most events that the next request of the job may have. */
  mostWith(job: Job): number {
    return this.#most?.get(job) ?? Infinity;
  }

  /** Nothing of the run is in flight. */
  add(run: BatchRun): void {
    this.#all.add(run);
    this.#ready.add(run);
  }

  next(): BatchRun | undefined {
    for (const run of this.#ready) {
      this.#ready.delete(run);
      return run;
    }
    return undefined;
  }

  /** A part of the run is in flight, and this is what waits of it. */
  sent(run: BatchRun): void {
    if (run.isOver) this.#all.delete(run);
  }

  *jobs(): Generator<Job, void, undefined> {
    for (const run of this.#all) yield* run.rest();
  }

  /**
   * Takes out the events of all runs, in their order, and ends those runs of which nothing is in flight.
   * @param taken gets the events
   * @returns the events that keep the places of their users no longer
   */
  takeAll(taken: Job[]): Job[] {
    const mostOf = (this.#most ??= new WeakMap());
    for (const run of this.#all)
      run.takeRest((job, most) => {
        taken.push(job);
        mostOf.set(job, most);
      });
    const places = taken.slice();
    for (const { jobs } of this.#ready)
      for (const job of jobs) if (job.line === undefined) places.push(job);
    this.#all.clear();
    this.#ready.clear();
    return places;
  }
}
