import type { EventEmitter } from 'node:events';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Destination } from '../../resources/resource.ts';
import type { BreakerState } from './breaker.ts';
import { settle } from './job-fate.ts';
import type { FateContext } from './job-fate.ts';
import type { Bundle } from '../bundle/bundle.ts';
import type { Job } from '../job.ts';
import type { Fencing } from '../fencing.ts';
import { LaneBacklog } from './backlog.ts';
import { LaneEndpoints } from './endpoints.ts';
import { LaneHold } from './hold.ts';
import { maxInFlightOf } from './max-in-flight.ts';
import { LaneRate } from './rate.ts';
import { LaneSlots } from './slots.ts';
import { LaneSpeed } from './speed.ts';
import type { LaneState } from '../metrics.ts';
import { skipped, worse } from '../outcome.ts';
import type { DeadLetterReason, Outcome } from '../outcome.ts';
import { PreparedDestination } from '../prepared-destination.ts';
import type { Sender } from '../sender.ts';
import type { SlotPool, SlotTaker } from './slot-pool.ts';
import type { WaitingJobs } from './waiting-jobs.ts';
import type { WorkShares } from './work-shares.ts';

/** What all lanes share. */
export interface LaneContext extends FateContext {
  readonly clock: SteadyClock;
  readonly sender: Sender;
  readonly pool: SlotPool;
  readonly fencing: Fencing;
  readonly shares: WorkShares;
  /** Emits `rotate` once a second, for the breakers. */
  readonly rotation: EventEmitter;
  readonly maxInFlightPerDestination: number;
}

/** A destination's own queue, slots, rate limit and breakers inside a worker. */
export class Lane implements SlotTaker {
  readonly #context: LaneContext;
  readonly #endpoints: LaneEndpoints;
  readonly #backlog: LaneBacklog;
  readonly #slots: LaneSlots;
  readonly #speed = new LaneSpeed();
  readonly #hold: LaneHold;
  readonly #rate: LaneRate;
  #prepared: PreparedDestination;
  isInLine = false;
  isSlow = false;
  #lastUsedMs: number;
  /** Since the last tick. */
  #wasOffered = false;

  constructor(destination: Destination, context: LaneContext) {
    const { clock, random, rotation, shares } = context;
    this.#context = context;
    this.#lastUsedMs = clock.now();
    const pump = (): void => {
      this.#pump();
    };
    this.#hold = new LaneHold(clock, pump);
    this.#rate = new LaneRate({ clock, shares, onReady: pump });
    const onChange = (state: BreakerState): void => {
      this.#breakerChanged(state);
    };
    this.#endpoints = new LaneEndpoints({ clock, random, rotation, onChange });
    this.#prepared = new PreparedDestination(destination);
    this.#endpoints.update(this.#prepared);
    this.#slots = new LaneSlots(maxInFlightOf(destination, context));
    this.#rate.update(destination);
    this.#backlog = new LaneBacklog(
      {
        ...{ endpoints: this.#endpoints, hold: this.#hold, rate: this.#rate, slots: this.#slots },
        isSlowRefused: () => this.#isSlowRefused,
        failingForMs: () => this.#speed.failingForMs(clock.steadyNow()),
        isDedicated: () => this.destination.topic === 'dedicated',
      },
      context,
    );
  }

  get destination(): Destination {
    return this.#prepared.destination;
  }

  get queued(): number {
    return this.#waiting.size;
  }

  get endpoints(): LaneEndpoints {
    return this.#endpoints;
  }

  /** Has work, or had some just now. */
  get isActive(): boolean {
    return this.#isBusy || this.#backlog.drain.isActive;
  }

  /** Gets work, and could do more. */
  get hasRoom(): boolean {
    return this.#backlog.drain.isActive && this.#waiting.size === 0;
  }

  get state(): LaneState {
    if (this.#hold.isOn) return 'held';
    if (this.#endpoints.availability !== 'yes') return 'open';
    if (this.isSlow) return 'slow';
    if (this.#waiting.size === 0) return 'free';
    return this.#rate.isReady ? 'waiting' : 'limited';
  }

  get #waiting(): WaitingJobs {
    return this.#backlog.waiting;
  }

  get #isBusy(): boolean {
    return this.#slots.inFlight > 0 || this.#waiting.size > 0;
  }

  /** Takes responsibility for the job: it is delivered, put off or given up from here. */
  offer(job: Job): void {
    job.keeper = this;
    this.#wasOffered = true;
    if (this.#backlog.take(job)) this.#pump();
  }

  /** Puts all of it off, if that is what would become of each of its events. */
  putOff(bundle: Bundle): boolean {
    this.#wasOffered = true;
    return this.#backlog.putOff(bundle);
  }

  takeSlot(): boolean {
    if (this.#wantsSlot() && this.#context.pool.take(this)) this.#startNext();
    const wantsMore = this.#wantsSlot();
    if (!wantsMore) this.#awaitRate();
    return wantsMore;
  }

  settled(job: Job, outcome: Outcome, endpointIndex: number, tookMs: number): void {
    const endpoint = job.endpoints[endpointIndex];
    if (endpoint === undefined) return;
    this.#context.events.requestEnded(job, endpoint, outcome, tookMs);
    endpoint.ended(job, outcome);
    if (job.over) {
      // The URL may have been the one that others wait for.
      this.#pump();
      return;
    }
    job.pending -= 1;
    job.outcome = worse(job.outcome, outcome);
    if (outcome.kind !== 'delivered' && job.pending > 0) return;
    this.#end(job, job.outcome);
    this.#pump();
  }

  /** The destination has changed; what waits is sent by its new version. */
  update(destination: Destination): void {
    const former = this.#endpoints.all;
    this.#prepared = new PreparedDestination(destination);
    this.#endpoints.update(this.#prepared);
    if (this.#endpoints.all !== former) this.#hold.end();
    this.#slots.max = maxInFlightOf(destination, this.#context);
    this.sharesChanged();
  }

  /** This worker has another share of the deployment's work. */
  sharesChanged(): void {
    this.#rate.update(this.destination);
    if (this.#rate.isElsewhere) this.#backlog.review();
    this.#pump();
  }

  /** The destination is gone or disabled: what waits is given up. */
  giveUp(reason: DeadLetterReason): void {
    for (const job of this.#waiting.takeAll())
      this.#context.disposal.deadLetter(job, reason, '', job.envelope.attempts);
  }

  /** Somebody else delivers what waits of revoked partitions. */
  releaseRevoked(): void {
    if (this.#waiting.size === 0) return;
    this.#backlog.releaseRevoked();
    this.#pump();
  }

  /** The worker stops. */
  releaseAll(): void {
    for (const { record } of this.#waiting.takeAll()) record.release();
  }

  /** About once a second. `othersHaveRoom`: other lanes could take more than they get. */
  tick(nowMs: number, othersHaveRoom: boolean): void {
    // What is put off at once, or answered within milliseconds, is not seen in flight here.
    const wasUsed = this.#wasOffered || this.#isBusy;
    this.#wasOffered = false;
    this.#backlog.tick(nowMs);
    this.#judgeSpeed();
    if (this.#isSlowRefused || this.#isOvertaken) this.#backlog.review();
    if (!this.#isSlowRefused && othersHaveRoom && this.#backlog.isBehind)
      this.#backlog.shedExcess();
    this.#backlog.reviewPaused(nowMs);
    this.#pump();
    this.#endpoints.dropIdleBreakers(nowMs);
    if (wasUsed || this.#hold.isOn || !this.#rate.isForgettable) this.#lastUsedMs = nowMs;
  }

  /** Breakers do not count: with nothing to probe with, one stays half-open for ever. */
  isUnusedSince(timeMs: number): boolean {
    return this.#lastUsedMs < timeMs;
  }

  close(): void {
    this.#hold.close();
    this.#rate.close();
    this.#endpoints.close();
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
      this.#waiting.hasFor(this.#slots.turn) &&
      (!this.#hold.isOn || this.#waiting.hasUrgent) &&
      this.#endpoints.someCanTake(this.#slots.max) &&
      this.#rate.isReady
    );
  }

  #awaitRate(): void {
    if (this.#rate.isLimited && this.#waiting.hasFor(this.#slots.turn)) this.#rate.await();
  }

  /** With a slot taken for it. */
  #startNext(): void {
    const { turn } = this.#slots;
    let job = this.#waiting.next(turn);
    while (job !== undefined && this.#isOver(job)) {
      this.#waiting.release(job);
      // A lane that is held lets out only what is urgent, which this may have been the last of.
      job = this.#wantsSlot() ? this.#waiting.next(turn) : undefined;
    }
    if (job === undefined) this.#context.pool.release(this.isSlow);
    else this.#start(job);
  }

  /** Things have happened while it waited: it was disposed of instead. */
  #isOver(job: Job): boolean {
    if (this.#context.fencing.drop(job)) return true;
    if (job.deadlineMs === undefined || this.#context.clock.now() <= job.deadlineMs) return false;
    const { attempts } = job.envelope;
    // It came in time, and its own destination kept it from a turn: by its rate limit, or by being slow.
    if (job.urgent) this.#context.disposal.deadLetter(job, 'expired', 'no turn in time', attempts);
    else this.#context.disposal.deadLetter(job, 'expired-late', '', attempts);
    return true;
  }

  #start(job: Job): void {
    job.startedMs = this.#context.clock.steadyNow();
    this.#rate.take(job.hasReturned);
    this.#slots.started(job);
    this.#speed.started(job.startedMs);
    const endpoints = this.#endpoints.all;
    job.endpoints = endpoints;
    job.signature = this.#prepared.sign(job.body);
    job.idempotencyHeader = this.destination.idempotencyHeader;
    for (let index = 0; index < endpoints.length; index++) {
      const endpoint = endpoints[index];
      if (endpoint === undefined || !this.#endpoints.canTake(endpoint, this.#slots.max)) {
        job.outcome = worse(job.outcome, skipped);
        // Some URL takes the event, or it would not have had its turn.
        if (endpoint !== undefined) this.#context.events.urlSkipped(this.destination.id, endpoint);
        continue;
      }
      job.pending += 1;
      endpoint.started(job);
      this.#context.sender.send(job, endpoint.prepared, index);
    }
    if (job.pending === 0) this.#end(job, skipped);
  }

  // Ending

  #end(job: Job, outcome: Outcome): void {
    job.over = true;
    this.#slots.ended(job.isRetry);
    this.#backlog.drain.ended();
    this.#waiting.release(job);
    // A refusal for good is an answer as well, and no sign of too much at a time.
    if (outcome.kind !== 'retryable') this.#slots.answered();
    settle(job, outcome, this.#context);
    // A URL that has been replaced meanwhile asks for nobody.
    if (outcome.kind === 'retryable' && job.endpoints === this.#endpoints.all)
      this.#holdFor(outcome.retryAfterMs ?? 0);
    this.#context.pool.release(this.isSlow);
    this.#speed.ended(job.startedMs, this.#context.clock.steadyNow(), outcome.kind);
    this.#judgeSpeed();
  }

  #holdFor(forMs: number): void {
    const nowMs = this.#context.clock.now();
    if (forMs > 0 && this.#hold.extend(nowMs, Math.min(forMs, this.#context.policy.windowMs)))
      this.#backlog.review();
  }

  #judgeSpeed(): void {
    const isSlow = this.#speed.isSlow(this.#context.clock.steadyNow());
    if (isSlow === this.isSlow) return;
    this.isSlow = isSlow;
    this.#context.pool.moved(this.#slots.inFlight, isSlow);
  }

  /** What has come back takes turns under the rate limit that fresh records were to have. */
  get #isOvertaken(): boolean {
    return this.#rate.isLimited && this.#waiting.returned > 0;
  }

  get #isSlowRefused(): boolean {
    return this.isSlow && this.#context.pool.isSlowFull;
  }

  #breakerChanged(state: BreakerState): void {
    this.#context.events.breakerChanged(this.destination.id, state);
    if (state === 'closed' && this.#endpoints.closedCount === 1) this.#slots.rampUp();
    if (state === 'open') this.#backlog.review();
    this.#pump();
  }
}
