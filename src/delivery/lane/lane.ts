import type { Destination } from '../../resources/resource.ts';
import type { BreakerState } from './breaker.ts';
import type { Bundle } from '../bundle/bundle.ts';
import { releaseRevoked, type Job } from '../job.ts';
import { deferralOf } from './deferral.ts';
import type { Deferral, LaneView, Prospects } from './deferral.ts';
import { DrainRate } from './drain-rate.ts';
import { LaneEndpoints } from './endpoints.ts';
import { LaneFigures } from './figures.ts';
import { LaneHold, wishedMs } from './hold.ts';
import type { LaneContext } from './lane-context.ts';
import { maxInFlightOf } from './max-in-flight.ts';
import { LaneRate } from './rate.ts';
import { aheadOf, LaneSlots } from './slots.ts';
import { LaneSpeed } from './speed.ts';
import { skipped, worse } from '../outcome.ts';
import type { Outcome, Retryable } from '../outcome.ts';
import { OddOneOut } from './odd-one-out.ts';
import { PreparedDestination } from '../prepared-destination.ts';
import { circumstances } from '../retry-policy.ts';
import { decide, decideOnBundle, isEnding } from '../verdict.ts';
import type { Happened, Over } from '../verdict.ts';
import type { SlotTaker } from './slot-pool.ts';
import { WaitingJobs } from './waiting-jobs.ts';

/** Bundles are unpacked only while fewer events than this wait: a lane's work for some tenths of a second. */
const enoughWaiting = 512;

/** A destination's own queue, slots, rate limit and breakers inside a worker. */
export class Lane implements SlotTaker {
  readonly #context: LaneContext;
  readonly endpoints: LaneEndpoints;
  readonly waiting: WaitingJobs = new WaitingJobs();
  readonly #slots: LaneSlots;
  readonly #speed = new LaneSpeed();
  readonly figures: LaneFigures;
  readonly #drain: DrainRate;
  readonly hold: LaneHold;
  readonly rate: LaneRate;
  #prepared: PreparedDestination;
  line: Set<SlotTaker> | undefined = undefined;
  isSlow = false;
  readonly #oddOneOut = new OddOneOut();
  #lastUsedMs: number;
  /** All the time between the last two ticks more could have gone out, but for the lane's own slots. */
  wasSaturated = false;
  /** Since the last tick. */
  #wasOffered = false;
  /** Why nothing is sent any more. */
  #over: Over | 'stopped' | undefined;

  constructor(destination: Destination, context: LaneContext) {
    const { clock, shares } = context;
    this.#context = context;
    this.#lastUsedMs = clock.now();
    this.figures = new LaneFigures(clock.now());
    this.#drain = new DrainRate(clock.now());
    const pump = (): void => {
      this.#pump();
    };
    this.hold = new LaneHold(clock, () => {
      this.#slots.rampUp();
      pump();
    });
    this.rate = new LaneRate({ clock, shares, onReady: pump });
    this.endpoints = new LaneEndpoints({
      ...context,
      onChange: (state) => {
        this.#breakerChanged(state);
      },
    });
    this.#prepared = new PreparedDestination(destination);
    this.endpoints.update(this.#prepared);
    this.#slots = new LaneSlots(maxInFlightOf(destination, context));
    this.rate.update(destination);
  }

  get destination(): Destination {
    return this.#prepared.destination;
  }

  get inFlight(): number {
    return this.#slots.inFlight;
  }

  get queued(): number {
    return this.waiting.size;
  }

  /** Has work, or had some just now. */
  get isActive(): boolean {
    return this.#isBusy || this.#drain.isActive;
  }

  /** Until the turn of what waits longest here. */
  get longestTurnMs(): number {
    const { size, longestLine } = this.waiting;
    return size > 0 ? this.#turnMs(longestLine) : 0;
  }

  get #isBusy(): boolean {
    return this.#slots.inFlight > 0 || this.waiting.size > 0;
  }

  /** Takes responsibility for the job: it is delivered, put off or given up from here. */
  offer(job: Job): void {
    job.keeper = this;
    if (job.deadlineMs !== undefined) job.isInTime = this.#context.clock.now() <= job.deadlineMs;
    this.#wasOffered = true;
    if (this.waiting.queued === 0) this.#drain.ranDry();
    if (this.#isAtEase) this.waiting.add(job);
    else this.#offer(job, 'offer', this.#view());
    this.#pump();
  }

  /** Puts all of it off, if that is what would become of each of its events. */
  putOff(bundle: Bundle): boolean {
    this.#wasOffered = true;
    const deferral = this.#deferralOfBundle();
    const verdict =
      deferral === undefined
        ? undefined
        : decideOnBundle(bundle.header, deferral, circumstances(this.#context));
    if (verdict === undefined) return false;
    this.#context.disposal.deferBundle(bundle, verdict);
    return true;
  }

  takeSlot(): boolean {
    if (this.#wantsSlot() && this.#context.pool.take(this)) this.#startNext();
    const wantsMore = this.#wantsSlot();
    if (!wantsMore) this.#awaitRate();
    return wantsMore;
  }

  settled(job: Job, itsOutcome: Outcome, endpointIndex: number, tookMs: number): void {
    const endpoint = job.endpoints[endpointIndex];
    if (endpoint === undefined) return;
    const outcome = this.#context.reachability.judge(endpoint.prepared.provider, itsOutcome);
    this.#context.events.requestEnded(job, endpoint, outcome, tookMs);
    endpoint.ended(job, outcome);
    if (job.over) {
      // The URL may have been the one that others wait for.
      this.#pump();
      return;
    }
    job.pending -= 1;
    job.outcome = worse(job.outcome, outcome);
    if (job.outcome === outcome) job.outcomeUrl = endpoint.prepared.publicUrl;
    if (outcome.kind !== 'delivered' && job.pending > 0) return;
    this.#end(job, job.outcome);
    this.#pump();
  }

  /** The destination has changed; what waits is sent by its new version. */
  update(destination: Destination): void {
    const former = this.endpoints.all;
    this.#prepared = new PreparedDestination(destination);
    this.endpoints.update(this.#prepared);
    const isElsewhere = this.endpoints.all !== former;
    if (isElsewhere) this.hold.end();
    const max = maxInFlightOf(destination, this.#context);
    if (isElsewhere || max !== this.#slots.max) this.#slots.startOver(max);
    this.sharesChanged();
  }

  /** This worker has another share of the deployment's work. */
  sharesChanged(): void {
    this.rate.update(this.destination);
    if (this.rate.isElsewhere) this.#review();
    this.#pump();
  }

  /** Nothing is sent to the destination any more: this becomes of what waits, and of what comes back. */
  end(because: Over): void {
    this.#over = because;
    for (const job of this.waiting.takeAll()) this.#settle(job, because);
  }

  /** Somebody else delivers what waits of revoked partitions. */
  releaseRevoked(): void {
    if (this.waiting.size === 0) return;
    for (const job of releaseRevoked(this.waiting.takeAll())) this.waiting.add(job);
    this.#pump();
  }

  /** The worker stops. */
  releaseAll(): void {
    this.#over = 'stopped';
    for (const { record } of this.waiting.takeAll()) record.release();
  }

  /** About once a second. `usualTurnMs`: until a turn in lanes that are not behind. */
  tick(nowMs: number, usualTurnMs: number): void {
    // What is put off at once, or answered within milliseconds, is not seen in flight here.
    const wasUsed = this.#wasOffered || this.#isBusy;
    this.#wasOffered = false;
    const { clock, pool } = this.#context;
    if (this.waiting.queued === 0 || pool.isRestricted) this.#drain.ranDry();
    this.wasSaturated = this.#isSaturated;
    this.#slots.concurrency.tick(this.wasSaturated, clock.steadyNow());
    this.#drain.tick(nowMs);
    this.figures.tick(nowMs);
    this.#judgeSpeed();
    this.#oddOneOut.tick(this.longestTurnMs, usualTurnMs);
    if (this.#mayHaveTooMuch) this.#review();
    this.#pump();
    this.endpoints.dropIdleBreakers(nowMs);
    if (wasUsed || this.hold.isOn || !this.rate.isForgettable) this.#lastUsedMs = nowMs;
  }

  /** Breakers do not count: with nothing to probe with, one stays half-open for ever. */
  isUnusedSince(timeMs: number): boolean {
    return this.#lastUsedMs < timeMs;
  }

  close(): void {
    this.hold.close();
    this.rate.close();
    this.endpoints.close();
  }

  // Waiting

  /** Nothing stands against waiting here for a slot. */
  get #isAtEase(): boolean {
    return (
      !this.endpoints.troubled &&
      !this.hold.isOn &&
      !this.rate.isLimited &&
      !this.#isSlowRefused &&
      !this.#oddOneOut.isOne
    );
  }

  #offer(job: Job, kind: 'offer' | 'review', lane: LaneView): void {
    const prospects = this.#prospectsOf(job, lane);
    const verdict = decide(job, { kind, lane, prospects }, circumstances(this.#context));
    if (isEnding(verdict)) {
      if (verdict.kind === 'put-off' && verdict.cause === 'rate-limit')
        this.rate.reserve(prospects.rateTurnMs);
      this.#context.disposal.carryOut(job, verdict);
      return;
    }
    if (verdict.kind === 'hurry') job.urgent = true;
    if (verdict.kind === 'wait') job.deadlineMs ??= verdict.deadlineMs;
    this.waiting.add(job);
  }

  /** Things have become worse: what may not wait any more is put off. */
  #review(): void {
    for (const job of this.waiting.takeAll()) this.#offer(job, 'review', this.#view());
  }

  /** The same becomes of all of its events; undefined if not. */
  #deferralOfBundle(): Deferral | undefined {
    const view = this.#view();
    const { size } = this.waiting;
    const isFull = size >= enoughWaiting;
    const rateWaitMs = this.rate.waitBehindMs(aheadOf(true, view.returned, size));
    const prospects = { rateWaitMs, rateTurnMs: 0, turnMs: 0, fullness: 0 };
    const deferral = deferralOf(view, prospects, true);
    // What is packed takes less memory than what waits here.
    return deferral ?? (isFull ? { cause: 'lane', wantedMs: view.drainMs } : undefined);
  }

  #view(): LaneView {
    const { clock } = this.#context;
    const { size, returned } = this.waiting;
    return {
      availability: this.endpoints.availability,
      openForMs: this.endpoints.openForMs,
      waiting: size,
      returned,
      maxInFlight: this.#slots.max,
      heldMs: this.hold.leftMs(clock.now()),
      isRateElsewhere: this.rate.isElsewhere,
      isSlowRefused: this.#isSlowRefused,
      failingForMs: this.#speed.failingForMs(clock.steadyNow()),
      drainMs: this.#drain.drainMs(size),
      isOddOneOut: this.#oddOneOut.isOne,
      isDedicated: this.#isDedicated,
    };
  }

  #prospectsOf(job: Job, { returned, waiting }: LaneView): Prospects {
    const rateWaitMs = this.rate.waitBehindMs(aheadOf(job.hasReturned, returned, waiting));
    return {
      rateWaitMs,
      rateTurnMs: this.rate.turnMs(rateWaitMs),
      turnMs: this.#turnMs(this.waiting.aheadOf(job)),
      fullness: job.claim.fullness(),
    };
  }

  /** Of an event that comes now, with so many of its user before it: each of them waits for a slot, too. */
  #turnMs(aheadOfUser: number): number {
    const slotMs = this.#drain.drainMs(this.waiting.queued);
    return (aheadOfUser + 1) * slotMs + aheadOfUser * this.#speed.averageMs;
  }

  /** Something that waits here may have to wait elsewhere. */
  get #mayHaveTooMuch(): boolean {
    if (this.waiting.size === 0) return false;
    // What has come back takes turns under the rate limit that fresh records were to have.
    const isOvertaken = this.rate.isLimited && this.waiting.returned > 0;
    return isOvertaken || this.#oddOneOut.isOne || this.#isSlowRefused || this.#isDedicated;
  }

  get #isDedicated(): boolean {
    return this.destination.topic === 'dedicated';
  }

  get #isSlowRefused(): boolean {
    return this.isSlow && this.#context.pool.isSlowFull;
  }

  /** Since the last tick something has waited for nothing but the lane's own slots. */
  get #isSaturated(): boolean {
    return (
      !this.#drain.hasRunDry && this.line === undefined && !this.hold.isOn && this.rate.isReady
    );
  }

  // Starting

  #pump(): void {
    while (this.#wantsSlot()) {
      if (!this.#context.pool.take(this)) return;
      this.#startNext();
    }
    this.#awaitRate();
  }

  #wantsSlot(): boolean {
    return (
      this.#slots.areLeft &&
      this.waiting.hasFor(this.#slots.turn) &&
      (!this.hold.isOn || this.waiting.hasUrgent) &&
      this.endpoints.someCanTake(this.#slots.max) &&
      this.rate.isReady
    );
  }

  #awaitRate(): void {
    if (this.rate.isLimited && this.waiting.hasFor(this.#slots.turn)) this.rate.await();
  }

  /** With a slot taken for it. */
  #startNext(): void {
    const { turn } = this.#slots;
    let job = this.waiting.next(turn);
    while (job !== undefined && !this.#mayStart(job)) {
      this.waiting.release(job);
      // A lane that is held lets out only what is urgent, which this may have been the last of.
      job = this.#wantsSlot() ? this.waiting.next(turn) : undefined;
    }
    if (job === undefined) this.#context.pool.release(this.isSlow);
    else this.#start(job);
  }

  /** Things have happened while it waited: false if that was its end. */
  #mayStart(job: Job): boolean {
    const fencedBy = this.#context.fencing.covers(job);
    const { deadlineMs } = job;
    if (deadlineMs === undefined && fencedBy === undefined) return true;
    const { policy, reachability } = this.#context;
    const cutOffMs = reachability.cutOffMs((deadlineMs ?? Infinity) - policy.windowMs);
    return !this.#settle(job, { kind: 'turn', fencedBy, cutOffMs });
  }

  #start(job: Job): void {
    job.startedMs = this.#context.clock.steadyNow();
    this.rate.take(job.hasReturned);
    this.#slots.started(job);
    this.#speed.started(job.startedMs);
    job.signature = this.#prepared.sign(job.body);
    job.idempotencyHeader = this.destination.idempotencyHeader;
    const { events, sender } = this.#context;
    this.endpoints.send(job, sender, this.#slots.max, (endpoint) => {
      // Some URL takes the event, or it would not have had its turn.
      events.urlSkipped(this.destination.id, endpoint);
    });
    if (job.pending === 0) this.#end(job, skipped);
  }

  // Ending

  #end(job: Job, outcome: Outcome): void {
    job.over = true;
    this.#slots.ended(job.isRetry);
    if (this.#settle(job, { kind: 'attempted', outcome })) this.#attempted(job, outcome);
    else this.#putBack(job);
    this.#context.pool.release(this.isSlow);
    this.#judgeSpeed();
  }

  #attempted(job: Job, outcome: Outcome): void {
    this.#drain.ended();
    const endedMs = this.#context.clock.steadyNow();
    this.#speed.ended(job.startedMs, endedMs, outcome.kind);
    this.figures.ended(outcome.kind === 'delivered', endedMs - job.startedMs);
    this.waiting.release(job);
    // A refusal for good is an answer as well, and no sign of too much at a time.
    if (outcome.kind !== 'retryable') this.#slots.answered();
    // A URL that has been replaced meanwhile asks for nobody.
    if (outcome.kind === 'retryable' && job.endpoints === this.endpoints.all)
      this.#holdFor(outcome);
  }

  /** It was no attempt, and goes first again; unless nobody here sends it any more. */
  #putBack(job: Job): void {
    this.#speed.cancelled(job.startedMs);
    job.startOver();
    if (job.claim.revoked || this.#over === 'stopped') job.record.release();
    else if (this.#over === undefined) this.waiting.putBack(job);
    else this.#settle(job, this.#over);
  }

  #holdFor(outcome: Retryable): void {
    const forMs = wishedMs(outcome);
    if (forMs === 0) return;
    const { clock, policy } = this.#context;
    if (!this.hold.isOn) this.#slots.throttled(clock.steadyNow());
    if (this.hold.extend(clock.now(), Math.min(forMs, policy.windowMs))) this.#review();
  }

  #judgeSpeed(): void {
    const isSlow = this.#speed.isSlow(this.#context.clock.steadyNow());
    if (isSlow === this.isSlow) return;
    this.isSlow = isSlow;
    this.#context.pool.moved(this.#slots.inFlight, isSlow);
  }

  /** True if it is done with here. */
  #settle(job: Job, happened: Happened): boolean {
    const verdict = decide(job, happened, circumstances(this.#context));
    if (!isEnding(verdict)) return false;
    this.#context.disposal.carryOut(job, verdict);
    return true;
  }

  #breakerChanged(state: BreakerState): void {
    this.#context.events.breakerChanged(state);
    if (state === 'closed' && this.endpoints.closedCount === 1) this.#slots.rampUp();
    if (state === 'open') this.#review();
    this.#pump();
  }
}
