import type { Destination } from '../../resources/resource.ts';
import { Admission } from './admission.ts';
import type { BreakerState } from './breaker.ts';
import type { Bundle } from '../bundle/bundle.ts';
import { releaseRevoked, type Claim, type Job } from '../job.ts';
import { LaneEndpoints } from './endpoints.ts';
import { LaneFigures } from './figures.ts';
import { LaneHold } from './hold.ts';
import { LaneBatches } from './lane-batches.ts';
import type { LaneContext } from './lane-context.ts';
import { Pace, type UsualTurns } from './pace.ts';
import { LaneRate } from './rate-limit.ts';
import { LaneSlots, maxInFlightOf } from './slots.ts';
import { skipped, worse, type Outcome } from '../outcome.ts';
import { PreparedDestination } from '../prepared-destination.ts';
import { circumstances, within, type Circumstances, type RetryPolicy } from '../retry-policy.ts';
import type { Over } from '../verdict.ts';
import { Settlement } from './settlement.ts';
import type { SlotTaker } from './slot-pool.ts';
import { lookAtLines, placeInLine, replaceInLine } from './user-line.ts';
import { WaitingJobs } from './waiting-jobs.ts';

/** A destination's own queue, slots, rate limit and breakers inside a worker. */
export class Lane implements SlotTaker {
  readonly #context: LaneContext;
  readonly endpoints: LaneEndpoints;
  readonly waiting: WaitingJobs = new WaitingJobs();
  readonly #admission: Admission;
  readonly #settlement: Settlement;
  readonly #slots: LaneSlots;
  readonly figures: LaneFigures;
  readonly #pace: Pace;
  readonly hold: LaneHold;
  readonly rate: LaneRate;
  prepared: PreparedDestination;
  /** Undefined: each event goes out alone. */
  #batches: LaneBatches | undefined;
  #policy: RetryPolicy;
  line: Set<SlotTaker> | undefined = undefined;
  isSlow = false;
  /** The time of the last tick that found the lane in use, by the steady clock. */
  #lastUsedMs: number;
  /** Between the last two ticks, more could have gone out at any time with more slots of the lane. */
  wasSaturated = false;
  /** An event came since the last tick. */
  #wasOffered = false;
  #wasUsed = false;
  /** No tick would change anything until the lane is woken. */
  isAtRest = false;
  /** The reason why nothing is sent anymore. */
  over: Over | 'stopped' | undefined = undefined;

  constructor(destination: Destination, context: LaneContext) {
    const { clock, shares } = context;
    this.#context = context;
    const nowMs = clock.steadyNow();
    this.#lastUsedMs = nowMs;
    this.figures = new LaneFigures(nowMs);
    this.#pace = new Pace(nowMs);
    const pump = (): void => {
      this.pump();
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
      onLogin: () => {
        this.#loginChanged();
      },
    });
    this.prepared = new PreparedDestination(destination);
    this.#policy = within(context.policy, this.prepared.retryWindowMs);
    this.endpoints.update(this.prepared);
    this.#slots = new LaneSlots(maxInFlightOf(destination, context));
    const parts = {
      context,
      waiting: this.waiting,
      endpoints: this.endpoints,
      hold: this.hold,
      rate: this.rate,
      slots: this.#slots,
      pace: this.#pace,
    };
    this.#admission = new Admission({ ...parts, lane: this });
    const { figures } = this;
    this.#settlement = new Settlement({
      ...parts,
      admission: this.#admission,
      figures,
      lane: this,
    });
    this.rate.update(destination);
    this.#updateBatches();
  }

  get destination(): Destination {
    return this.prepared.destination;
  }

  /** See `PreparedDestination`. */
  get orderForMs(): number | undefined {
    return this.prepared.orderForMs;
  }

  /** Now, with the destination's own policy. */
  get circumstances(): Circumstances {
    return circumstances(this.#context, this.#policy);
  }

  get inFlight(): number {
    return this.#slots.inFlight;
  }

  get queued(): number {
    return this.waiting.size;
  }

  /** The lane has work, or had some just now. */
  get isActive(): boolean {
    return this.#isBusy || this.#pace.isActive;
  }

  /** Its events lack nothing but a slot: none of them is put off for its endpoint's sake. */
  get isServed(): boolean {
    const { endpoints, hold, rate, isSlowRefused } = this;
    const isHeldUp = hold.isOn || endpoints.areUnreached || isSlowRefused;
    if (endpoints.login !== 'ready') return false;
    return endpoints.availability === 'yes' && !isHeldUp && rate.isReady;
  }

  /** Time until the turn of the event that waits longest here. */
  get longestTurnMs(): number {
    return this.#admission.longestTurnMs;
  }

  get #isBusy(): boolean {
    return this.#slots.inFlight > 0 || this.waiting.size > 0;
  }

  /** Takes responsibility for the job: the lane delivers it, puts it off or gives it up. */
  offer(job: Job): void {
    job.keeper = this;
    job.line = placeInLine(job, this.prepared.orderForMs);
    if (job.deadlineMs !== undefined) job.isInTime = this.#context.clock.now() <= job.deadlineMs;
    this.#wasOffered = true;
    if (this.waiting.queued === 0) this.#pace.ranDry();
    this.#batches?.offered(job);
    this.#admission.offer(job);
    if (this.#batches?.isFilling !== true) this.pump();
  }

  /** Puts the whole bundle off, if each of its events would be put off. */
  putOff(bundle: Bundle): boolean {
    this.#wasOffered = true;
    return this.#admission.putOff(bundle);
  }

  takeSlot(): boolean {
    if (this.wantsSlot && this.#context.pool.take(this)) this.#startNext();
    const wantsMore = this.wantsSlot;
    if (!wantsMore) this.#awaitTurn();
    return wantsMore;
  }

  settled(job: Job, itsOutcome: Outcome, endpointIndex: number, tookMs: number): void {
    const endpoint = job.endpoints[endpointIndex];
    if (endpoint === undefined) return;
    const outcome = this.endpoints.judge(endpoint, itsOutcome, job.startedMs);
    this.#context.events.requestEnded(job, endpoint, outcome, tookMs);
    endpoint.ended(job, outcome);
    job.pending -= 1;
    if (job.over) {
      if (job.line !== undefined && job.pending === 0) this.waiting.release(job);
      // Other jobs may wait for this URL.
      this.pump();
      return;
    }
    job.outcome = worse(job.outcome, outcome);
    if (job.outcome === outcome) job.outcomeUrl = endpoint.prepared.publicUrl;
    if (outcome.kind !== 'delivered' && job.pending > 0) return;
    this.#end(job, job.outcome);
    this.pump();
  }

  copied(job: Job): void {
    if (job.line === undefined) return;
    this.waiting.release(job);
    this.pump();
  }

  /** The destination has changed. Waiting events are sent by its new version. */
  update(destination: Destination): void {
    const former = this.endpoints.all;
    const { orderForMs } = this.prepared;
    this.prepared = new PreparedDestination(destination);
    this.#policy = within(this.#context.policy, this.prepared.retryWindowMs);
    this.endpoints.update(this.prepared);
    replaceInLine(this.waiting, orderForMs, this.prepared.orderForMs);
    this.#updateBatches();
    const isElsewhere = this.endpoints.all !== former;
    if (isElsewhere) this.hold.end();
    const max = maxInFlightOf(destination, this.#context);
    if (isElsewhere || max !== this.#slots.max) this.#slots.startOver(max);
    this.sharesChanged();
  }

  /** This worker owns other partitions, and with them perhaps other rate limits. */
  sharesChanged(): void {
    this.rate.update(this.destination);
    if (this.rate.isElsewhere) this.#admission.review();
    this.pump();
  }

  /**
   * Nothing is sent to the destination anymore. `because` decides what becomes of waiting and returning jobs.
   */
  end(because: Over): void {
    this.over = because;
    const stay = this.waiting.takeAll().filter((job) => !this.#settlement.settle(job, because));
    if (stay.length > 0) this.#context.awaiting.putBack(stay);
  }

  /**
   * Starts again after `end`, because an operator has events sent again. An endpoint that had asked for time gets one
   * request first.
   */
  again(destination: Destination): void {
    this.over = undefined;
    this.#endHold();
    this.wake();
    this.update(destination);
  }

  /** An operator has mended the endpoint: one that is away, or has asked for time, gets a request at once. */
  tryNow(): void {
    this.#endHold();
    this.endpoints.probeNow();
    this.waiting.resume(() => true);
    this.pump();
  }

  /** A recalled record of the partition may come before its time. */
  takesRecalled(claim: Claim): boolean {
    return this.#admission.takesRecalled(claim);
  }

  /** Another worker delivers the waiting events of revoked partitions. */
  releaseRevoked(): void {
    if (this.waiting.size === 0) return;
    for (const job of releaseRevoked(this.waiting.takeAll())) this.waiting.add(job);
    this.pump();
  }

  /** The worker stops. */
  releaseAll(): void {
    this.over = 'stopped';
    for (const { record } of this.waiting.takeAll()) record.release();
  }

  /** Must be called about once a second. */
  tick(usual: UsualTurns): void {
    // Events that were put off at once, or answered within milliseconds, are not in flight at this moment.
    this.#wasUsed = this.#wasOffered || this.#isBusy;
    this.#wasOffered = false;
    const { clock, pool } = this.#context;
    const nowMs = clock.steadyNow();
    if (this.waiting.queued === 0 || pool.isRampingUp || this.endpoints.areUnreached)
      this.#pace.ranDry();
    this.wasSaturated = this.#isSaturated;
    this.#slots.concurrency.tick(this.wasSaturated, nowMs);
    this.#pace.tick(nowMs);
    this.figures.tick(nowMs);
    this.#judgeSpeed();
    this.#admission.tick(usual);
    if (this.waiting.areSomeStanding) lookAtLines(this.waiting, this.#context);
    this.#batches?.tick();
    this.pump();
    this.endpoints.tick(nowMs);
    if (this.#wasUsed || this.hold.isOn || !this.rate.isForgettable) this.#lastUsedMs = nowMs;
  }

  /**
   * Must be called after a tick.
   * @returns false while further ticks may change something
   */
  rest(): boolean {
    const { endpoints, hold, rate } = this;
    const isUsed =
      this.#wasUsed || this.isActive || this.wasSaturated || this.#admission.isOddOneOut;
    this.isAtRest =
      !isUsed && !this.isSlow && !hold.isOn && rate.isForgettable && !endpoints.haveBreakers;
    return this.isAtRest;
  }

  /** Must be called before the lane is used again. */
  wake(): void {
    this.isAtRest = false;
    this.figures.tick(this.#context.clock.steadyNow());
  }

  /** Another lane in the place of this one would let no more through. A breaker may be forgotten: probing is cheap. */
  get isForgettable(): boolean {
    const { endpoints, hold, rate } = this;
    return !this.#isBusy && endpoints.areIdle && !hold.isOn && rate.isForgettable;
  }

  /**
   * Breakers do not count: without an event to probe with, a breaker stays half open without end.
   * @param timeMs by the steady clock
   */
  isUnusedSince(timeMs: number): boolean {
    return this.#lastUsedMs < timeMs;
  }

  close(): void {
    this.#batches?.close();
    this.hold.close();
    this.rate.close();
    this.endpoints.close();
  }

  /** It would get slots if it were not slow. */
  get isSlowRefused(): boolean {
    return this.isSlow && this.#context.pool.isSlowFull;
  }

  /** Since the last tick something has waited for nothing but the lane's own slots. */
  get #isSaturated(): boolean {
    const { hold, rate, endpoints } = this;
    if (hold.isOn || !rate.isReady || endpoints.login !== 'ready') return false;
    return !this.#pace.hasRunDry && this.line === undefined;
  }

  #endHold(): void {
    if (this.hold.isOn) this.#slots.rampUp();
    this.hold.end();
  }

  /** Sends what may be sent now. */
  pump(): void {
    if (this.waiting.queued > 0) this.endpoints.wantTokens();
    while (this.wantsSlot) {
      if (!this.#context.pool.take(this)) return;
      this.#startNext();
    }
    this.#awaitTurn();
  }

  /** Something may be sent, as soon as there is a slot. */
  get wantsSlot(): boolean {
    return (
      this.#slots.areLeft &&
      this.waiting.hasFor(this.#slots.turn) &&
      (this.#batches === undefined || this.#batches.isDue) &&
      (!this.hold.isOn || this.waiting.hasUrgent) &&
      this.endpoints.someCanTake(this.#slots.max) &&
      this.rate.isReady
    );
  }

  #awaitTurn(): void {
    this.#batches?.await();
    if (this.rate.isLimited && this.waiting.hasFor(this.#slots.turn)) this.rate.await();
  }

  /** Starts the next job or batch, for which a slot is already taken. */
  #startNext(): void {
    if (this.#batches !== undefined) {
      this.#batches.startNext();
      return;
    }
    const { turn } = this.#slots;
    let job = this.waiting.next(turn);
    while (job !== undefined && !this.#settlement.mayStart(job, this.prepared.findUrls(job))) {
      // A lane that is held lets out urgent jobs only, and this may have been the last of them.
      job = this.wantsSlot ? this.waiting.next(turn) : undefined;
    }
    if (job === undefined) this.#context.pool.release(this.isSlow);
    else this.#start(job);
  }

  #start(job: Job): void {
    const { clock } = this.#context;
    job.startedMs = clock.steadyNow();
    this.rate.take(job.hasReturned);
    this.#slots.started(job);
    this.#pace.started(job.startedMs);
    job.headers = this.prepared.headersOf(job.messageId, job.body, clock.now());
    this.endpoints.send(job, this.#slots.max);
    if (job.pending === 0) this.#end(job, skipped);
  }

  #end(job: Job, outcome: Outcome): void {
    job.over = true;
    this.#slots.ended(job.isRetry);
    this.#settlement.attempted(job, outcome);
    this.slotFreed();
  }

  slotFreed(): void {
    this.#context.pool.release(this.isSlow);
    this.#judgeSpeed();
  }

  #updateBatches(): void {
    const limits = this.prepared.batch;
    if (limits === undefined) {
      this.#batches?.retire();
      this.#batches = undefined;
    } else if (this.#batches === undefined) {
      this.#batches = new LaneBatches(limits, {
        context: this.#context,
        slots: this.#slots,
        pace: this.#pace,
        settlement: this.#settlement,
        lane: this,
      });
    } else this.#batches.update(limits);
  }

  #judgeSpeed(): void {
    const isSlow = this.#pace.isSlow(this.#context.clock.steadyNow());
    if (isSlow === this.isSlow) return;
    this.isSlow = isSlow;
    this.#context.pool.moved(this.#slots.inFlight, isSlow);
  }

  #loginChanged(): void {
    if (this.endpoints.login === 'away') this.#admission.review();
    this.pump();
  }

  #breakerChanged(state: BreakerState): void {
    this.#context.events.breakerChanged(state);
    if (state === 'closed' && this.endpoints.closedCount === 1) this.#slots.rampUp();
    if (state === 'open') this.#admission.review();
    this.pump();
  }
}
