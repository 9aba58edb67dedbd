import type { EventEmitter } from 'node:events';
import type { Clock, Timer } from '../ops/clock.ts';
import type { Destination } from '../resources/resource.ts';
import type { BreakerState } from './breaker.ts';
import type { Disposal } from './disposal.ts';
import { DrainRate } from './drain-rate.ts';
import type { Endpoint } from './endpoint.ts';
import type { DeliveryEvents } from './events.ts';
import type { Job } from './job.ts';
import { LaneEndpoints } from './lane-endpoints.ts';
import { skipped, worse } from './outcome.ts';
import type { DeadLetterReason, Outcome, Retryable } from './outcome.ts';
import { PreparedDestination } from './prepared-destination.ts';
import { planDeferral, planRetry, wantedBreakerDelayMs } from './retry-policy.ts';
import type { DeferralCause, RetryPolicy } from './retry-policy.ts';
import type { Sender } from './sender.ts';
import type { SlotPool, SlotTaker } from './slot-pool.ts';
import { WaitingJobs } from './waiting-jobs.ts';

/** What all lanes share. */
export interface LaneContext {
  readonly clock: Clock;
  readonly random: () => number;
  readonly sender: Sender;
  readonly disposal: Disposal;
  readonly events: DeliveryEvents;
  readonly pool: SlotPool;
  readonly policy: RetryPolicy;
  /** Emits `rotate` once a second, for the breakers. */
  readonly rotation: EventEmitter;
  readonly maxInFlightPerDestination: number;
}

/** A lane that needs longer for what it holds is behind. */
const behindMs = 2_000;
/** While first attempts wait, retries take at most this share of a lane's slots. */
const retryShare = 0.75;
/** So short a wish of an endpoint is waited for; a copy in a retry topic would come back later than that. */
const shortHoldMs = 2_000;

/** A destination's own queue, slots and breakers inside a worker. */
export class Lane implements SlotTaker {
  readonly #context: LaneContext;
  readonly #endpoints: LaneEndpoints;
  readonly #waiting = new WaitingJobs();
  readonly #rate: DrainRate;
  #prepared: PreparedDestination;
  #maxInFlight: number;
  /** Fewer slots than allowed while the endpoint recovers: each success adds one. */
  #recoveringSlots = Infinity;
  isInLine = false;
  #inFlight = 0;
  #retriesInFlight = 0;
  /** 0: not held. */
  #heldUntilMs = 0;
  #heldTimer: Timer | undefined;
  #lastUsedMs: number;

  constructor(destination: Destination, context: LaneContext) {
    const { clock, random, rotation } = context;
    this.#context = context;
    this.#lastUsedMs = clock.now();
    this.#rate = new DrainRate(this.#lastUsedMs);
    const onChange = (state: BreakerState): void => {
      this.#breakerChanged(state);
    };
    this.#endpoints = new LaneEndpoints({ clock, random, rotation, onChange });
    this.#prepared = new PreparedDestination(destination);
    this.#endpoints.update(this.#prepared);
    this.#maxInFlight = destination.maxInFlight ?? context.maxInFlightPerDestination;
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
    return this.#waiting.size > 0 || this.#inFlight > 0 || this.#rate.isActive;
  }

  /** Gets work, and could do more. */
  get hasRoom(): boolean {
    return this.#rate.isActive && this.#waiting.size === 0;
  }

  /** Takes responsibility for the job: it is delivered, put off or given up from here. */
  offer(job: Job): void {
    job.keeper = this;
    if (this.#isBlocked() && this.#deferIfBlocked(job)) return;
    if (!this.#waiting.add(job)) {
      if (this.#defer(job, 'lane', this.#wantedDrainMs())) return;
      this.#waiting.addAnyway(job);
    }
    this.#pump();
  }

  takeSlot(): boolean {
    if (this.#wantsSlot() && this.#context.pool.take(this)) this.#startNext();
    return this.#wantsSlot();
  }

  settled(job: Job, outcome: Outcome, endpointIndex: number, tookMs: number): void {
    const endpoint = job.endpoints[endpointIndex];
    if (endpoint === undefined) return;
    this.#context.events.requestEnded(job, endpoint, outcome, tookMs);
    endpoint.ended(job, outcome);
    if (job.over) return;
    job.pending -= 1;
    job.outcome = worse(job.outcome, outcome);
    if (outcome.kind !== 'delivered' && job.pending > 0) return;
    this.#end(job, job.outcome);
    this.#pump();
  }

  /** The destination has changed; what waits is sent by its new version. */
  update(destination: Destination): void {
    this.#prepared = new PreparedDestination(destination);
    this.#endpoints.update(this.#prepared);
    this.#maxInFlight = destination.maxInFlight ?? this.#context.maxInFlightPerDestination;
    this.#pump();
  }

  /** The destination is gone or disabled: what waits is given up. */
  giveUp(reason: DeadLetterReason): void {
    for (const job of this.#waiting.takeAll())
      this.#context.disposal.deadLetter(job, reason, '', job.envelope.attempts);
  }

  /** Somebody else delivers what waits of lost partitions. */
  dropLost(): void {
    if (this.#waiting.size === 0) return;
    for (const job of this.#waiting.takeAll()) if (!job.claim.lost) this.#keep(job);
    this.#pump();
  }

  /** About once a second. `othersHaveRoom`: other lanes could take more than they get. */
  tick(nowMs: number, othersHaveRoom: boolean): void {
    const busy = this.#inFlight > 0 || this.#waiting.size > 0;
    this.#rate.tick(nowMs, busy);
    if (othersHaveRoom && this.#isBehind()) this.#shedExcess();
    this.#endpoints.dropIdleBreakers(nowMs);
    if (busy || this.#isBlocked()) this.#lastUsedMs = nowMs;
  }

  isUnusedSince(timeMs: number): boolean {
    return this.#lastUsedMs < timeMs;
  }

  close(): void {
    this.#heldTimer?.cancel();
    this.#endpoints.close();
  }

  // Starting

  #pump(): void {
    while (this.#wantsSlot()) {
      if (!this.#context.pool.take(this)) return;
      this.#startNext();
    }
  }

  #wantsSlot(): boolean {
    return (
      !this.#waiting.isEmpty &&
      this.#inFlight < this.#maxInFlight &&
      this.#inFlight < this.#recoveringSlots &&
      (this.#heldUntilMs === 0 || this.#waiting.hasUrgent) &&
      this.#endpoints.availability === 'yes'
    );
  }

  /** With a slot taken for it. */
  #startNext(): void {
    const enoughRetries = this.#retriesInFlight >= retryShare * this.#maxInFlight;
    let job = this.#waiting.next(enoughRetries);
    while (job !== undefined && this.#isTooLate(job)) {
      this.#waiting.release(job);
      this.#context.disposal.deadLetter(job, 'expired-late', '', job.envelope.attempts);
      job = this.#waiting.next(enoughRetries);
    }
    if (job === undefined) this.#context.pool.release();
    else this.#start(job);
  }

  #isTooLate(job: Job): boolean {
    const { deadlineMs } = job.envelope;
    return deadlineMs !== undefined && this.#context.clock.now() > deadlineMs;
  }

  #start(job: Job): void {
    this.#inFlight += 1;
    if (job.envelope.attempts > 0) this.#retriesInFlight += 1;
    const endpoints = this.#endpoints.all;
    job.endpoints = endpoints;
    job.signature = this.#prepared.sign(job.body);
    job.idempotencyHeader = this.destination.idempotencyHeader;
    for (let index = 0; index < endpoints.length; index++) {
      const endpoint = endpoints[index];
      if (endpoint === undefined || !this.#canTake(endpoint)) {
        job.outcome = worse(job.outcome, skipped);
        continue;
      }
      job.pending += 1;
      endpoint.started(job);
      this.#context.sender.send(job, endpoint.prepared, index);
    }
    if (job.pending === 0) this.#end(job, skipped);
  }

  /** A URL whose requests hang while another one answers would otherwise gather them without end. */
  #canTake(endpoint: Endpoint): boolean {
    if (endpoint.inFlight >= this.#maxInFlight) return false;
    return !this.#endpoints.troubled || endpoint.availability === 'yes';
  }

  // Ending

  #end(job: Job, outcome: Outcome): void {
    job.over = true;
    this.#inFlight -= 1;
    if (job.envelope.attempts > 0) this.#retriesInFlight -= 1;
    this.#rate.ended();
    this.#waiting.release(job);
    this.#dispose(job, outcome);
    this.#context.pool.release();
  }

  #dispose(job: Job, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'delivered':
        if (this.#recoveringSlots < this.#maxInFlight) this.#recoveringSlots += 1;
        this.#context.events.delivered(job);
        job.record.finish();
        return;
      case 'permanent': {
        const attempts = job.envelope.attempts + 1;
        this.#context.disposal.deadLetter(job, outcome.reason, outcome.detail, attempts);
        return;
      }
      case 'retryable':
        this.#retry(job, outcome);
    }
  }

  #retry(job: Job, outcome: Retryable): void {
    const { clock, policy, random, disposal } = this.#context;
    const nowMs = clock.now();
    const { deadlineMs, last } = job.envelope;
    const state = { attempts: job.envelope.attempts + 1, deadlineMs, last };
    const retryAfterMs = outcome.retryAfterMs ?? 0;
    const plan = planRetry(state, retryAfterMs, nowMs, policy, random);
    if (plan.kind === 'later') disposal.retry(job, plan);
    else disposal.deadLetter(job, plan.reason, outcome.detail, state.attempts);
    if (retryAfterMs > 0) this.#hold(nowMs, Math.min(retryAfterMs, policy.windowMs));
  }

  // Putting off

  /** The endpoint asked to be left alone, and said so about itself: that concerns the whole lane. */
  #hold(nowMs: number, forMs: number): void {
    const untilMs = nowMs + forMs;
    if (untilMs <= this.#heldUntilMs) return;
    this.#heldUntilMs = untilMs;
    this.#heldTimer?.cancel();
    this.#heldTimer = this.#context.clock.after(forMs, () => {
      this.#heldUntilMs = 0;
      this.#heldTimer = undefined;
      this.#pump();
    });
    this.#deferWaiting();
  }

  #isBlocked(): boolean {
    return this.#heldUntilMs > 0 || this.#endpoints.troubled;
  }

  #deferWaiting(): void {
    for (const job of this.#waiting.takeAll()) if (!this.#deferIfBlocked(job)) this.#keep(job);
  }

  /** True if the job was put off or given up. */
  #deferIfBlocked(job: Job): boolean {
    if (job.claim.dedicated) return false;
    const nowMs = this.#context.clock.now();
    const availability = this.#endpoints.availability;
    // A few wait for the probe's result; it may take a whole timeout, and partitions must not fill up.
    const probing = availability === 'wait' && this.#waiting.size >= this.#maxInFlight;
    if (availability === 'no' || probing) {
      const wantedMs = wantedBreakerDelayMs(this.#endpoints.openForMs(nowMs));
      return this.#defer(job, 'breaker', wantedMs);
    }
    const heldMs = this.#heldUntilMs - nowMs;
    return heldMs > shortHoldMs && this.#defer(job, 'retry-after', heldMs);
  }

  /** False where only the time for an attempt now is left. */
  #defer(job: Job, cause: DeferralCause, wantedMs: number): boolean {
    const { clock, policy, random, disposal } = this.#context;
    const { appendTimeMs, redrivenMs = appendTimeMs, attempts } = job.envelope;
    const nowMs = clock.now();
    const plan = planDeferral(job.envelope, cause, wantedMs, redrivenMs, nowMs, policy, random);
    if (plan.kind === 'later') disposal.defer(job, plan, cause);
    else if (plan.kind === 'give-up') disposal.deadLetter(job, plan.reason, cause, attempts);
    else job.urgent = true;
    return !job.urgent;
  }

  #keep(job: Job): void {
    if (!this.#waiting.add(job)) this.#waiting.addAnyway(job);
  }

  #isBehind(): boolean {
    const drainMs = this.#rate.drainMs(this.#waiting.size);
    return drainMs !== undefined && drainMs > behindMs && this.#waiting.size > this.#maxInFlight;
  }

  /** A lane that ends nothing at all is the breaker's business soon; until then the shortest tier will do. */
  #wantedDrainMs(): number {
    const drainMs = this.#rate.drainMs(this.#waiting.size) ?? 0;
    return Number.isFinite(drainMs) ? drainMs : 0;
  }

  /** Keeps what can be worked off in time. */
  #shedExcess(): void {
    const wantedMs = this.#wantedDrainMs();
    const inTime = wantedMs === 0 ? 0 : Math.floor((this.#waiting.size * behindMs) / wantedMs);
    const kept = Math.max(this.#maxInFlight, inTime);
    for (const job of this.#waiting.takeAll()) {
      const excess = this.#waiting.size >= kept && !job.claim.dedicated;
      if (!excess || !this.#defer(job, 'lane', wantedMs)) this.#keep(job);
    }
    this.#pump();
  }

  #breakerChanged(state: BreakerState): void {
    this.#context.events.breakerChanged(this.destination.id, state);
    if (state === 'closed' && this.#endpoints.closedCount === 1) this.#recoveringSlots = 1;
    if (state === 'open') this.#deferWaiting();
    this.#pump();
  }
}
