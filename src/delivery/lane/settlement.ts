import type { Job } from '../job.ts';
import type { Outcome, Retryable } from '../outcome.ts';
import type { Circumstances } from '../retry-policy.ts';
import { decide, isEnding, type Ending, type Happened, type Over } from '../verdict.ts';
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
    const { context, lane, pace } = this.#deps;
    const placeLeftMs = placeLeftOf(job, lane.orderForMs, context.clock.steadyNow());
    const happened = { kind: 'attempted', outcome, placeLeftMs } as const;
    const verdict = decide(job, happened, lane.circumstances);
    const isEnd = isEnding(verdict);
    if (isEnd) this.#ended(job, verdict);
    if (isEnd || verdict.kind === 'stand') this.#learn(job, outcome);
    else pace.cancelled(job.startedMs);
    if (verdict.kind === 'stand') stand(job, verdict, context);
    if (!isEnd) this.#putBack(job);
  }

  /** Checks again what may have changed while the job waited; false if that ended the job. */
  mayStart(job: Job, lacking: string | undefined): boolean {
    const { context, lane } = this.#deps;
    const fencedBy = context.fencing.covers(job);
    if (job.deadlineMs === undefined && fencedBy === undefined && lacking === undefined)
      return true;
    const verdict = decide(job, { kind: 'turn', fencedBy, lacking }, lane.circumstances);
    if (!isEnding(verdict)) return true;
    this.#ended(job, verdict);
    return false;
  }

  /** @returns whether the job has ended by it */
  settle(job: Job, happened: Happened): boolean {
    const { context, lane } = this.#deps;
    const verdict = decide(job, happened, lane.circumstances);
    if (!isEnding(verdict)) return false;
    context.disposal.carryOut(job, verdict);
    return true;
  }

  #learn(job: Job, outcome: Outcome): void {
    const { context, pace, figures, slots, endpoints } = this.#deps;
    const endedMs = context.clock.steadyNow();
    pace.ended(job.startedMs, endedMs, outcome.kind);
    figures.ended(outcome.kind === 'delivered', endedMs - job.startedMs);
    // A permanent refusal is an answer as well, and no sign of too many requests.
    if (outcome.kind !== 'retryable') slots.answered();
    // A URL that was replaced meanwhile no longer counts.
    else if (job.endpoints === endpoints.all) this.#holdFor(outcome);
  }

  /**
   * The next job of its user may go. With strict order, it waits for the job's copy: without one, the next owner of the
   * partition would try the job again. It waits for requests to further URLs, too.
   */
  #ended(job: Job, ending: Ending): void {
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
    const { context, waiting, hold, rate, endpoints, admission, lane } = this.#deps;
    job.startOver();
    const over = job.claim.revoked ? 'stopped' : lane.over;
    if (over === undefined) {
      if (job.line?.standsUntilMs === undefined) waiting.putBack(job);
      else waiting.stand(job);
      // What waited when these began was put off then.
      if (hold.isOn || rate.isElsewhere || endpoints.login === 'away') admission.review();
      return;
    }
    waiting.release(job);
    if (over === 'stopped') job.record.release();
    else if (!this.settle(job, over)) context.awaiting.putBack([job]);
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
