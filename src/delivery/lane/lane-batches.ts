import type { Timer } from '../../ops/clock.ts';
import { Batch, bracketsBytes, commaBytes, mostTogether } from '../batch/batch.ts';
import { BatchRun, type PartOfRun } from '../batch/batch-run.ts';
import type { Claim, Job } from '../job.ts';
import { isAboutSome, skipped, worse, type Outcome } from '../outcome.ts';
import type { PreparedDestination } from '../prepared-destination.ts';
import type { Circumstances } from '../retry-policy.ts';
import type { BatchLimits } from '../../resources/schema/batch.ts';
import { isEnding, type Ending } from '../verdict.ts';
import { crowded } from './deferral.ts';
import type { LaneEndpoints } from './endpoints.ts';
import type { LaneHold } from './hold.ts';
import type { LaneContext } from './lane-context.ts';
import type { Pace } from './pace.ts';
import type { LaneRate } from './rate-limit.ts';
import type { Settlement } from './settlement.ts';
import type { LaneSlots } from './slots.ts';
import type { WaitingJobs } from './waiting-jobs.ts';

interface LaneBatchesDeps {
  readonly context: LaneContext;
  readonly slots: LaneSlots;
  readonly pace: Pace;
  readonly settlement: Settlement;
  readonly lane: {
    readonly waiting: WaitingJobs;
    readonly endpoints: LaneEndpoints;
    readonly hold: LaneHold;
    readonly rate: LaneRate;
    readonly prepared: PreparedDestination;
    readonly circumstances: Circumstances;
    /** Something may be sent, as soon as there is a slot. */
    readonly wantsSlot: boolean;
    /** Sends what may be sent now. */
    pump(): void;
    /** A slot that the lane had is free. */
    slotFreed(): void;
  };
}

/** Sends the events of a lane in batches: many events in one slot and one request to each URL. */
export class LaneBatches {
  readonly #deps: LaneBatchesDeps;
  #limits: BatchLimits;
  /** The destination has no batches any more, and this only ends those that are in flight. */
  #isRetired = false;
  /** The time since which something waits for others, by the steady clock; earlier if it may not wait for as long. */
  #sinceMs: number | undefined;
  #timer: Timer | undefined;
  /** Some of what waits is in a window that has little room left. */
  #isCrowded = false;
  /** So many events, or so many bytes, have to come before those that wait can be enough for a full batch. */
  #missing: { events: number; bytes: number } = { events: 0, bytes: 0 };

  constructor(limits: BatchLimits, deps: LaneBatchesDeps) {
    this.#limits = limits;
    this.#deps = deps;
    deps.lane.waiting.areForBatches = true;
  }

  /** A job has come to the lane. */
  offered(job: Job): void {
    this.#sinceMs ??= this.#deps.context.clock.steadyNow();
    if (!this.#isCrowded && isCrowding(job.claim)) this.#hurry();
    this.#missing.events -= 1;
    this.#missing.bytes -= job.body.length + commaBytes;
  }

  /** Nothing may go out before more events have come, or the time of those that wait for others has. */
  get isFilling(): boolean {
    if (this.#isPressed) return false;
    return this.#timer !== undefined && this.#missing.events > 0 && this.#missing.bytes > 0;
  }

  /** A batch may go out: it is full, or something in it waits no longer for others. */
  get isDue(): boolean {
    const { context, lane } = this.#deps;
    const { waiting } = lane;
    if (waiting.areRunsReady || this.#isPressed) return true;
    if (waiting.queued === 0) return false;
    this.#sinceMs ??= context.clock.steadyNow();
    return this.#waitMs === 0 || this.#isFull;
  }

  /** Calls `pump` when what waits now has waited for long enough. */
  await(): void {
    if (this.#deps.lane.waiting.queued === 0) this.#nothingWaits();
    if (this.#timer !== undefined || this.#sinceMs === undefined) return;
    const waitMs = this.#waitMs;
    // What is due waits for something else.
    if (waitMs === 0) return;
    this.#timer = this.#deps.context.clock.after(waitMs, () => {
      this.#timer = undefined;
      this.#deps.lane.pump();
    });
  }

  /** Must be called about once a second: what has waited for an earlier event of its user was not looked at since. */
  tick(): void {
    const { waiting } = this.#deps.lane;
    if (this.#isCrowded || this.#sinceMs === undefined) return;
    if (waiting.visitStartable(({ claim }) => isCrowding(claim))) this.#hurry();
  }

  /** Sends the next batch, for which a slot is taken already, or gives the slot back. */
  startNext(): void {
    const { settlement, lane } = this.#deps;
    let part = this.#next();
    while (part !== undefined) {
      const { run } = part;
      const jobs = part.jobs.filter((job) => {
        const ending = settlement.endingAtTurn(job, undefined);
        if (ending !== undefined) this.#carryOut(job, ending);
        return ending === undefined;
      });
      if (jobs.length > 0) {
        this.#send(new Batch(run, jobs, this));
        return;
      }
      lane.waiting.runBack(run, []);
      part = lane.wantsSlot ? this.#next() : undefined;
    }
    lane.slotFreed();
  }

  settled(batch: Batch, itsOutcome: Outcome, endpointIndex: number, tookMs: number): void {
    const { context, lane } = this.#deps;
    const { waiting } = lane;
    const endpoint = batch.endpoints[endpointIndex];
    if (endpoint === undefined) return;
    const outcome = lane.endpoints.judge(endpoint, itsOutcome, batch.startedMs);
    endpoint.ended(batch, outcome);
    batch.pending -= 1;
    batch.endedMs = context.clock.steadyNow();
    const isEnded = batch.open === 0;
    const isForSome = batch.jobs.length > 1 && isAboutSome(outcome);
    if (isForSome) batch.refusedWith = outcome.status;
    context.events.batchEnded(batch, endpoint, outcome, tookMs, isForSome);
    batch.outcome = worse(batch.outcome, outcome);
    const now = lane.circumstances;
    const each = outcome.kind === 'delivered' ? outcome.each : undefined;
    batch.jobs.forEach((job, index) => {
      job.pending = batch.pending;
      if (job.over) {
        if (job.line !== undefined && job.pending === 0) waiting.release(job);
        return;
      }
      const its = each?.[index] ?? outcome;
      job.outcome = worse(job.outcome, its);
      if (job.outcome === its) job.outcomeUrl = endpoint.prepared.publicUrl;
      if (its.kind === 'delivered' || batch.pending === 0)
        this.#conclude(batch, job, job.outcome, now);
    });
    if (batch.open === 0 && !isEnded) this.#end(batch);
    lane.pump();
  }

  /** The destination has changed. */
  update(limits: BatchLimits): void {
    this.#limits = limits;
    this.#lookAgain();
  }

  /** The destination has no batches any more: what waits goes out alone. */
  retire(): void {
    this.#isRetired = true;
    this.#deps.lane.waiting.areForBatches = false;
    this.close();
    this.#deps.lane.waiting.dissolve();
  }

  close(): void {
    this.#timer?.cancel();
  }

  /** Something that waits has no time to wait for others. */
  get #isPressed(): boolean {
    const { waiting } = this.#deps.lane;
    return waiting.hasUrgent || waiting.shortOfTime > 0;
  }

  #nothingWaits(): void {
    this.#sinceMs = undefined;
    this.#isCrowded = false;
  }

  /** Lets what waits go out soon, because it takes room from others. */
  #hurry(): void {
    this.#isCrowded = true;
    const soonMs = this.#deps.context.clock.steadyNow() + crowdedWaitMs;
    this.#sinceMs = Math.min(this.#sinceMs ?? Infinity, soonMs - this.#limits.waitMs);
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Others wait than those that came since the last look. */
  #lookAgain(): void {
    this.#missing = { events: 0, bytes: 0 };
  }

  /** Time for which what waits now waits for others. */
  get #waitMs(): number {
    const sinceMs = this.#sinceMs ?? 0;
    return Math.max(0, sinceMs + this.#limits.waitMs - this.#deps.context.clock.steadyNow());
  }

  get #isFull(): boolean {
    const missing = this.#missing;
    if (missing.events > 0 && missing.bytes > 0) return false;
    missing.events = Math.min(this.#limits.events, this.#deps.lane.rate.mostTogether);
    missing.bytes = this.#limits.bytes - bracketsBytes;
    return this.#deps.lane.waiting.visitStartable(({ body }) => {
      missing.events -= 1;
      missing.bytes -= body.length + commaBytes;
      return missing.events <= 0 || missing.bytes <= 0;
    });
  }

  /** A lane that is held lets out urgent jobs only. */
  #next(): PartOfRun | undefined {
    const { waiting, hold } = this.#deps.lane;
    return (hold.isOn ? undefined : waiting.nextPart()) ?? this.#form();
  }

  /** Takes jobs that wait, as many as may go together. */
  #form(): PartOfRun | undefined {
    const { slots, lane } = this.#deps;
    const { waiting, hold } = lane;
    const { turn } = slots;
    const filling = new Filling(this.#most, this.#limits.bytes, waiting);
    let first = waiting.next(turn);
    while (first !== undefined) {
      if (!filling.takes(first)) {
        waiting.putBack(first);
        break;
      }
      // With strict order, an event waits for the end of its user's earlier one.
      let next = first.line === undefined && !hold.isOn ? waiting.behind(first) : undefined;
      while (next !== undefined && filling.takes(next)) {
        waiting.takeBehind(first);
        next = waiting.behind(first);
      }
      const isEnd = filling.isFull || next !== undefined || (hold.isOn && !waiting.hasUrgent);
      first = isEnd ? undefined : waiting.next(turn);
    }
    this.#lookAgain();
    if (waiting.queued === 0) this.#nothingWaits();
    if (filling.jobs.length === 0) return undefined;
    const run = new BatchRun(filling.jobs);
    return { run, jobs: run.next() };
  }

  /** While nobody knows whether the endpoint is back, one event is enough to find it out. */
  get #most(): number {
    const { endpoints, rate } = this.#deps.lane;
    const isProbe = endpoints.troubled && endpoints.closedCount === 0;
    return isProbe ? 1 : Math.min(this.#limits.events, rate.mostTogether);
  }

  #send(batch: Batch): void {
    const { context, slots, pace, lane } = this.#deps;
    const { clock } = context;
    batch.startedMs = clock.steadyNow();
    batch.endedMs = batch.startedMs;
    lane.rate.takeBatch(batch.jobs);
    slots.started(batch);
    pace.started(batch.startedMs);
    batch.headers = lane.prepared.headersOf(batch.messageId, batch.body, clock.now());
    lane.endpoints.send(batch, slots.max);
    for (const job of batch.jobs) {
      job.pending = batch.pending;
      job.outcome = batch.outcome;
    }
    if (batch.pending > 0) return;
    const now = lane.circumstances;
    for (const job of batch.jobs) this.#conclude(batch, job, batch.outcome ?? skipped, now);
    this.#end(batch);
  }

  /** All that the endpoints say of the event is known, or enough. */
  #conclude(batch: Batch, job: Job, outcome: Outcome, now: Circumstances): void {
    const { settlement } = this.#deps;
    batch.open -= 1;
    if (batch.refusedWith !== undefined && isAboutSome(outcome)) {
      batch.refused.push(job);
      return;
    }
    const verdict = settlement.verdictOn(job, outcome, now);
    if (isEnding(verdict)) {
      job.over = true;
      this.#carryOut(job, verdict);
    } else if (verdict.kind === 'stand') settlement.stands(job, verdict);
    else batch.unsent.push(job);
    if (verdict.kind !== 'wait') settlement.figure(outcome, batch.endedMs - batch.startedMs);
  }

  /** The place of its user is free when the run is over, unless the order is strict. */
  #carryOut(job: Job, ending: Ending): void {
    const { context, settlement } = this.#deps;
    if (job.line === undefined) context.disposal.carryOut(job, ending);
    else settlement.ended(job, ending);
  }

  /** Each event has its decision: the slot is free, and what is to be sent again waits. */
  #end(batch: Batch): void {
    const { slots, settlement, pace, lane } = this.#deps;
    const { jobs, run, unsent, refused, startedMs, endedMs, outcome = skipped } = batch;
    slots.ended(batch.isRetry);
    const events = jobs.length - unsent.length - refused.length;
    if (unsent.length === jobs.length) pace.cancelled(startedMs);
    else settlement.learn(batch, worstAsked(jobs) ?? outcome, events, endedMs);
    if (jobs.every((job) => job.outcome?.kind === 'delivered')) run.taken();
    this.#sendAgain(batch);
    lane.slotFreed();
  }

  #sendAgain({ run, unsent, refused, refusedWith = 0 }: Batch): void {
    const { settlement, lane } = this.#deps;
    const stay = (job: Job): boolean => {
      job.startOver();
      return !settlement.leaves(job);
    };
    const refusedStay = refused.filter(stay);
    const unsentStay = unsent.filter(stay);
    run.refused(refusedStay, refusedWith);
    run.again(unsentStay);
    lane.waiting.runBack(run, [...refusedStay, ...unsentStay]);
    this.#lookAgain();
    if (this.#isRetired) lane.waiting.dissolve();
    if (unsentStay.length > 0) settlement.reviewBack();
  }
}

/** The part of a window in which events may wait for others; the window is read on when twice as much is in flight. */
const mostForOthers = 0.25;
/** Events that were read at once still go together. */
const crowdedWaitMs = 50;

/** Events that wait for others keep these, and events of other destinations, from being read. */
function isCrowding(claim: Claim): boolean {
  return claim.fullness() >= crowded && claim.partOf(claim.waitingInBatchLanes) >= mostForOthers;
}

/** The outcome of an event by which the endpoint asked for patience. */
function worstAsked(jobs: readonly Job[]): Outcome | undefined {
  for (const { outcome } of jobs)
    if (outcome?.kind === 'retryable' && outcome.cause === 'status-429') return outcome;
  return undefined;
}

/** The jobs of a batch that is being formed. */
class Filling {
  readonly jobs: Job[] = [];
  readonly #waiting: Pick<WaitingJobs, 'mostWith'>;
  readonly #mostBytes: number;
  readonly #events: number;
  /** The most events, as those say that it has. */
  #most: number;
  #bytes = bracketsBytes - commaBytes;

  constructor(events: number, mostBytes: number, waiting: Pick<WaitingJobs, 'mostWith'>) {
    this.#events = events;
    this.#most = events;
    this.#mostBytes = mostBytes;
    this.#waiting = waiting;
  }

  get isFull(): boolean {
    return this.jobs.length >= this.#most;
  }

  /** @returns false if the job has to wait for another batch */
  takes(job: Job): boolean {
    const events = this.jobs.length + 1;
    const bytes = this.#bytes + commaBytes + job.body.length;
    const most = Math.min(
      this.#most,
      mostTogether(this.#events, job.envelope.attempts),
      this.#waiting.mostWith(job),
    );
    if (events > 1 && (events > most || bytes > this.#mostBytes)) return false;
    this.#most = most;
    this.#bytes = bytes;
    this.jobs.push(job);
    return true;
  }
}
