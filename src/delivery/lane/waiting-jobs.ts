import { ageFromMs } from '../../event/envelope.ts';
import { BatchRuns, type BatchRun, type PartOfRun } from '../batch/batch-run.ts';
import type { Job } from '../job.ts';
import { JobQueue, JobsByUser } from './job-links.ts';
import type { Turn } from './slots.ts';

/**
 * The waiting jobs of a lane: those that must not wait, those that are short of time, others that have come
 * back from a retry topic, fresh ones, and each user's order. With strict order, those that have failed wait for their
 * next attempt, and others of their users behind them.
 */
export class WaitingJobs {
  readonly #urgent = new JobQueue();
  readonly #shortOfTime = new JobQueue();
  readonly #returned = new JobQueue();
  readonly #fresh = new JobQueue();
  readonly #standing = new Set<Job>();
  readonly #users = new UserOrder();
  /** Undefined while there was no batch. */
  #runs: BatchRuns | undefined;
  #size = 0;
  #queued = 0;
  #aheadSize = 0;
  #shortOfTimeSize = 0;
  #areForBatches = false;

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
    return this.#aheadSize;
  }

  /** Waiting jobs that are short of time. */
  get shortOfTime(): number {
    return this.#shortOfTimeSize;
  }

  /** The start of the oldest age and the first deadline, of the jobs whose turn is next. */
  earliest(): { readonly oldestMs: number; readonly deadlineMs: number } | undefined {
    let earliest: { oldestMs: number; deadlineMs: number } | undefined;
    for (const { first } of this.#queues) {
      if (first === undefined) continue;
      const { envelope, deadlineMs = Infinity } = first;
      earliest ??= { oldestMs: Infinity, deadlineMs: Infinity };
      earliest.oldestMs = Math.min(earliest.oldestMs, ageFromMs(envelope));
      earliest.deadlineMs = Math.min(earliest.deadlineMs, deadlineMs);
    }
    return earliest;
  }

  /** Tells whether its lane has batches, so that the claims of its jobs count them. */
  set areForBatches(are: boolean) {
    if (are === this.#areForBatches) return;
    this.#areForBatches = are;
    for (const { claim } of this.all()) claim.waitingInBatchLanes += are ? 1 : -1;
  }

  /** Some job could start with a slot. */
  hasFor(turn: Turn): boolean {
    return this.#queueFor(turn) !== undefined || this.areRunsReady;
  }

  /** Part of a batch that was refused, or not sent, could start with a slot. */
  get areRunsReady(): boolean {
    return this.#runs?.areReady === true;
  }

  get hasUrgent(): boolean {
    return !this.#urgent.isEmpty;
  }

  add(job: Job): void {
    this.#count(job, 1);
    // The user's order is lost for what has come back.
    const mayOvertake = job.hasReturned && isPressed(job) && job.line === undefined;
    if (mayOvertake || this.#users.enter(job)) this.#enqueue(job);
  }

  /** The longest row of waiting jobs of one user since none was waiting. */
  get longestLine(): number {
    return this.#users.longest;
  }

  /** The number of its user's jobs that go before a job that comes now. */
  aheadOf(job: Job): number {
    return this.#users.aheadOf(job);
  }

  next(turn: Turn): Job | undefined {
    const job = this.#queueFor(turn)?.shift();
    if (job === undefined) return undefined;
    this.#count(job, -1);
    this.#queued -= 1;
    return job;
  }

  /** The next job of the user of a job from `next`, which may go together with it. */
  behind({ followers }: Job): Job | undefined {
    return followers?.[0];
  }

  /** Takes the job of `behind`. */
  takeBehind(first: Job): void {
    const job = this.#users.takeBehind(first);
    if (job !== undefined) this.#count(job, -1);
  }

  /**
   * Visits the jobs that could start together, each after those that go before it.
   * @param isLast true: none is visited after this one
   * @returns whether one was the last
   */
  visitStartable(isLast: (job: Job) => boolean): boolean {
    for (const queue of this.#queues)
      for (let { first } = queue; first !== undefined; first = first.next) {
        if (isLast(first)) return true;
        if (first.line === undefined && first.followers?.some(isLast) === true) return true;
      }
    return false;
  }

  /** The most events that the next request of the job may have. */
  mostWith(job: Job): number {
    return this.#runs?.mostWith(job) ?? Infinity;
  }

  /** Takes the next part of a run. What the run has left waits here, while the part is in flight. */
  nextPart(): PartOfRun | undefined {
    const run = this.#runs?.next();
    if (run === undefined) return undefined;
    this.#queued -= run.size;
    const jobs = run.next();
    for (const job of jobs) this.#count(job, -1);
    this.#runs?.sent(run);
    return { run, jobs };
  }

  /**
   * A request of a run has ended, and nothing of the run is in flight.
   * @param back the jobs of that request that are to go out again, and are parts of the run again
   */
  runBack(run: BatchRun, back: readonly Job[]): void {
    for (const job of back) this.#count(job, 1);
    if (run.isOver) {
      for (const job of run.jobs) if (job.line === undefined) this.release(job);
      return;
    }
    this.#runs ??= new BatchRuns();
    this.#runs.add(run);
    this.#queued += run.size;
  }

  /** The events of runs that wait go out alone, or in other batches. */
  dissolve(): void {
    if (this.#runs !== undefined) for (const job of this.takeAll()) this.add(job);
  }

  /** Puts a job from `next` back, before all others of its kind. */
  putBack(job: Job): void {
    this.#count(job, 1);
    this.#queued += 1;
    this.#queueOf(job).putBack(job);
  }

  /** A job from `next` waits for its next attempt, and others of its user behind it. */
  stand(job: Job): void {
    this.#count(job, 1);
    this.#standing.add(job);
  }

  /** A job has ended, and others of its user still wait for its copy. */
  keepPlace(job: Job): void {
    this.#users.keepPlace(job);
  }

  /** Jobs wait for their next attempt in their place. */
  get areSomeStanding(): boolean {
    return this.#standing.size > 0;
  }

  /** The jobs that wait for their next attempt, each followed by those that wait behind it. */
  *standing(): Generator<Job, void, undefined> {
    for (const job of this.#standing) {
      yield job;
      yield* job.followers ?? [];
    }
  }

  /** Lets those go on whose time has come. */
  resume(isTime: (job: Job) => boolean): void {
    for (const job of this.#standing) {
      if (!isTime(job)) continue;
      this.#standing.delete(job);
      if (job.line !== undefined) job.line.standsUntilMs = undefined;
      this.#enqueue(job);
    }
  }

  /** The job has ended, so the next one of its user may go. */
  release(job: Job): void {
    const next = this.#users.advance(job);
    if (next !== undefined) this.#enqueue(next);
  }

  /** All waiting jobs, in no order. */
  *all(): Generator<Job, void, undefined> {
    for (const queue of this.#queues) yield* queue;
    yield* this.#standing;
    if (this.#runs !== undefined) yield* this.#runs.jobs();
    yield* this.#users.followers();
  }

  /** Takes out all waiting jobs, those of a user in their order. */
  takeAll(): Job[] {
    const jobs: Job[] = [];
    // Those that wait behind one of these come after all of these.
    for (const first of this.#runs?.takeAll(jobs) ?? []) {
      let job = this.#users.advance(first);
      for (; job !== undefined; job = this.#users.advance(job)) jobs.push(job);
    }
    for (const first of [...this.#queues.flatMap((queue) => queue.clear()), ...this.#standing]) {
      for (let job: Job | undefined = first; job !== undefined; job = this.#users.advance(job))
        jobs.push(job);
    }
    this.#standing.clear();
    for (const follower of this.#users.takeFollowers()) jobs.push(follower);
    this.#size -= jobs.length;
    if (this.#areForBatches) for (const { claim } of jobs) claim.waitingInBatchLanes -= 1;
    this.#queued = 0;
    this.#aheadSize = 0;
    this.#shortOfTimeSize = 0;
    return jobs;
  }

  get #queues(): readonly JobQueue[] {
    return [this.#urgent, this.#shortOfTime, this.#returned, this.#fresh];
  }

  #count(job: Job, by: 1 | -1): void {
    this.#size += by;
    if (this.#areForBatches) job.claim.waitingInBatchLanes += by;
    if (isAhead(job)) this.#aheadSize += by;
    if (isPressed(job)) this.#shortOfTimeSize += by;
  }

  /** Jobs that came back go before fresh ones, where they may start. */
  #queueFor(turn: Turn): JobQueue | undefined {
    if (!this.#urgent.isEmpty) return this.#urgent;
    if (this.#isTurnOf(this.#shortOfTime.first, turn)) return this.#shortOfTime;
    if (this.#isTurnOf(this.#returned.first, turn)) return this.#returned;
    return this.#fresh.isEmpty ? undefined : this.#fresh;
  }

  #isTurnOf(returned: Job | undefined, turn: Turn): boolean {
    if (returned === undefined) return false;
    if (turn === 'any') return true;
    return turn === 'fresh-before' ? this.#fresh.isEmpty : !returned.isRetry;
  }

  #queueOf({ urgent, isShortOfTime, hasReturned }: Job): JobQueue {
    if (urgent) return this.#urgent;
    if (isShortOfTime) return this.#shortOfTime;
    return hasReturned ? this.#returned : this.#fresh;
  }

  #enqueue(job: Job): void {
    if (job.line?.standsUntilMs !== undefined) {
      this.#standing.add(job);
      return;
    }
    this.#queued += 1;
    this.#queueOf(job).push(job);
  }
}

/** The job goes before fresh ones. */
function isAhead(job: Job): boolean {
  return job.hasReturned || isPressed(job);
}

/** The job goes before others that have come back and have time. */
function isPressed({ isShortOfTime, urgent }: Job): boolean {
  return isShortOfTime || urgent;
}

/** Lets first attempts of one user go out one after the other, and those of different users in parallel. */
class UserOrder {
  /** Each user's job that is queued or in flight. Later jobs of the user are its followers. */
  readonly #first = new JobsByUser();
  #followers = 0;
  #longest = 0;

  /** @returns false if the job waits here; `advance` returns it later */
  enter(job: Job): boolean {
    const { user } = job;
    if (user === undefined) return true;
    const known = this.#first.get(user);
    // One that waited for its copy when its partition was lost gets none: the partition is read anew.
    const isGone = known?.claim.lost === true && known.pending === 0;
    if (isGone) this.#first.remove(user);
    const first = isGone ? undefined : known;
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

  /** Takes the next job of the user of this one, which stays the user's first. */
  takeBehind({ followers }: Job): Job | undefined {
    const next = followers?.shift();
    if (next !== undefined) this.#left(1);
    return next;
  }

  /** The job is its user's first, unless another one is. */
  keepPlace(job: Job): void {
    const { user } = job;
    if (user !== undefined && this.#first.get(user) === undefined) this.#first.add(user, job);
  }

  /** The number of its user's jobs that go before a job that comes now. */
  aheadOf({ user }: Pick<Job, 'user'>): number {
    const first = user === undefined ? undefined : this.#first.get(user);
    return first === undefined ? 0 : 1 + (first.followers?.length ?? 0);
  }

  /** The longest row of jobs of one user since none was waiting. */
  get longest(): number {
    return this.#longest;
  }

  /**
   * The user's job is done with.
   * @returns the user's next one
   */
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

  /** The jobs that wait behind another job of their user. */
  *followers(): Generator<Job, void, undefined> {
    for (const { followers } of this.#first) if (followers !== undefined) yield* followers;
  }

  /** Takes out the jobs that wait behind a job that stays. */
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
