import type { Job } from '../job.ts';
import type { Outcome, Retryable } from '../outcome.ts';
import type { Circumstances } from '../retry-policy.ts';
import {
  decide,
  isEnding,
  type Ending,
  type Happened,
  type Over,
  type Stand,
  type Verdict,
} from '../verdict.ts';
import type { Admission, AdmissionDeps } from './admission.ts';
import type { LaneFigures } from './figures.ts';
import { wishedMs } from './hold.ts';
import { placeLeftOf, stand } from './user-line.ts';

interface SettlementDeps extends Omit<AdmissionDeps, 'lane'> {
  readonly admission: Pick<Admission, 'review'>;
  readonly figures: LaneFigures;
  readonly lane: {
    readonly circumstances: Circumstances;
    readonly orderForMs: number | undefined;
    /** The reason why nothing is sent anymore. */
    readonly over: Over | 'stopped' | undefined;
  };
}

/** Decides what becomes of jobs that were sent, or had their turn, and what the lane learns from that. */
export class Settlement {
  readonly #deps: SettlementDeps;

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
  }

  /** The job's requests have this outcome. */
  attempted(job: Job, outcome: Outcome): void {
    const { context, pace } = this.#deps;
    const verdict = this.verdictOn(job, outcome);
    const isEnd = isEnding(verdict);
    if (isEnd) this.ended(job, verdict);
    if (isEnd || verdict.kind === 'stand') {
      const nowMs = context.clock.steadyNow();
      this.learn(job, outcome, 1, nowMs);
      this.figure(outcome, nowMs - job.startedMs);
    } else pace.cancelled(job.startedMs);
    if (verdict.kind === 'stand') this.stands(job, verdict);
    else if (!isEnd) this.#putBack(job);
  }

  /**
   * Decides what becomes of the job.
   * @param now default: those of this moment
   */
  verdictOn(
    job: Job,
    outcome: Outcome,
    now: Circumstances = this.#deps.lane.circumstances,
  ): Verdict {
    const placeLeftMs = job.line === undefined ? undefined : this.#placeLeftMs(job);
    return decide(job, { kind: 'attempted', outcome, placeLeftMs }, now);
  }

  /** The job waits for its next attempt in its place. */
  stands(job: Job, verdict: Stand): void {
    stand(job, verdict, this.#deps.context);
    this.#putBack(job);
  }

  /** Checks again what may have changed while the job waited; false if that ended the job. */
  mayStart(job: Job, lacking: string | undefined): boolean {
    const ending = this.endingAtTurn(job, lacking);
    if (ending !== undefined) this.ended(job, ending);
    return ending === undefined;
  }

  /** Undefined: the job may start. */
  endingAtTurn(job: Job, lacking: string | undefined): Ending | undefined {
    const { context, lane } = this.#deps;
    const fencedBy = context.fencing.covers(job);
    if (job.deadlineMs === undefined && fencedBy === undefined && lacking === undefined)
      return undefined;
    const verdict = decide(job, { kind: 'turn', fencedBy, lacking }, lane.circumstances);
    return isEnding(verdict) ? verdict : undefined;
  }

  /** @returns whether the job has ended by it */
  settle(job: Job, happened: Happened): boolean {
    const { context, lane } = this.#deps;
    const verdict = decide(job, happened, lane.circumstances);
    if (!isEnding(verdict)) return false;
    context.disposal.carryOut(job, verdict);
    return true;
  }

  /**
   * The lane learns from the end of a request.
   * @param events that it has dealt with
   * @param nowMs by the steady clock
   */
  learn(
    request: Pick<Job, 'startedMs' | 'endpoints'>,
    outcome: Outcome,
    events: number,
    nowMs: number,
  ): void {
    const { pace, slots, endpoints } = this.#deps;
    pace.ended(request.startedMs, nowMs, outcome.kind, events);
    // A permanent refusal is an answer as well, and no sign of too many requests.
    if (outcome.kind !== 'retryable') slots.answered();
    // A URL that was replaced meanwhile no longer counts.
    else if (request.endpoints === endpoints.all) this.#holdFor(outcome);
  }

  /** An attempt of one event has ended. */
  figure(outcome: Outcome, tookMs: number): void {
    this.#deps.figures.ended(outcome.kind === 'delivered', tookMs);
  }

  /**
   * The next job of its user may go. With strict order, it waits for the job's copy: without one, the next owner of the
   * partition would try the job again. It waits for requests to further URLs, too.
   */
  ended(job: Job, ending: Ending): void {
    const { context, waiting } = this.#deps;
    // Nothing is copied of a partition that is lost: its next owner decides.
    const isCopied = ending.kind !== 'finish' && ending.kind !== 'drop' && !job.claim.lost;
    context.disposal.carryOut(job, ending);
    if (job.line === undefined || (job.pending === 0 && !isCopied)) waiting.release(job);
  }

  /**
   * The job goes first again, at once or after the delay of a retry, unless it is the next owner's or the lane sends
   * nothing anymore.
   */
  #putBack(job: Job): void {
    const { waiting } = this.#deps;
    job.startOver();
    if (this.leaves(job)) {
      waiting.release(job);
      return;
    }
    if (job.line?.standsUntilMs === undefined) waiting.putBack(job);
    else waiting.stand(job);
    this.reviewBack();
  }

  /** The job that waits again is the next owner's, or the lane sends nothing anymore. */
  leaves(job: Job): boolean {
    const { context, lane } = this.#deps;
    const over = job.claim.revoked ? 'stopped' : lane.over;
    if (over === undefined) return false;
    if (over === 'stopped') job.record.release();
    else if (!this.settle(job, over)) context.awaiting.putBack([job]);
    return true;
  }

  /** Something waits again: what waited when these began was put off then. */
  reviewBack(): void {
    const { hold, rate, endpoints, admission } = this.#deps;
    if (hold.isOn || rate.isElsewhere || endpoints.login === 'away') admission.review();
  }

  #placeLeftMs(job: Job): number | undefined {
    const { context, lane } = this.#deps;
    return placeLeftOf(job, lane.orderForMs, context.clock.steadyNow());
  }

  #holdFor(outcome: Retryable): void {
    const { context, hold, slots, admission, lane } = this.#deps;
    const forMs = wishedMs(outcome);
    if (forMs === 0) return;
    if (!hold.isOn) slots.throttled(context.clock.steadyNow());
    const { windowMs } = lane.circumstances.policy;
    if (hold.extend(Math.min(forMs, windowMs))) admission.review();
  }
}
