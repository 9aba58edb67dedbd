import { deferralOf } from './deferral.ts';
import type { Deferral } from './deferral.ts';
import { DrainRate } from './drain-rate.ts';
import { putOff, putOffBundle } from './job-fate.ts';
import type { FateContext } from './job-fate.ts';
import type { Bundle } from '../bundle/bundle.ts';
import { releaseRevoked, type Job } from '../job.ts';
import type { LaneEndpoints } from './endpoints.ts';
import type { LaneHold } from './hold.ts';
import type { LaneRate } from './rate.ts';
import { aheadOf } from './slots.ts';
import type { LaneSlots } from './slots.ts';
import { WaitingJobs } from './waiting-jobs.ts';

/** What decides whether a record may wait in a lane. */
export interface LaneParts {
  readonly endpoints: LaneEndpoints;
  readonly hold: LaneHold;
  readonly rate: LaneRate;
  readonly slots: LaneSlots;
  /** The slots that slow lanes share are taken, and this is one. */
  isSlowRefused(): boolean;
  /** Without an answer that is no failure. */
  failingForMs(): number;
  /** The destination's own topic pauses where others defer. */
  isDedicated(): boolean;
}

/** A lane that needs longer for what it holds is behind. */
const behindMs = 2_000;

/** Bundles are unpacked only while fewer events than this wait: a lane's work for some tenths of a second. */
const enoughWaiting = 512;

/** How often it is looked whether what waits of a paused topic has waited too long. */
const pausedReviewMs = 5_000;

/** What waits in a lane, and what is put off instead. */
export class LaneBacklog {
  readonly waiting: WaitingJobs = new WaitingJobs();
  readonly drain: DrainRate;
  readonly #parts: LaneParts;
  readonly #context: FateContext;
  #reviewedMs = 0;

  constructor(parts: LaneParts, context: FateContext) {
    this.#parts = parts;
    this.#context = context;
    this.drain = new DrainRate(context.clock.now());
  }

  /** True if the job waits here now; else it was put off or given up. */
  take(job: Job): boolean {
    if (this.waiting.size === 0) this.drain.ranDry();
    const deferral = this.#deferralOf(job);
    if (deferral !== undefined && this.#putOff(job, deferral)) return false;
    if (this.waiting.add(job)) return true;
    // Too many of its user wait already.
    if (this.#putOff(job, { cause: 'lane', wantedMs: this.#drainMs() })) return false;
    this.waiting.addAnyway(job);
    return true;
  }

  /** False unless the same would become of all of its events. */
  putOff(bundle: Bundle): boolean {
    const deferral = this.#deferral(true) ?? this.#fullness();
    if (deferral === undefined || deferral.cause === 'rate-limit') return false;
    return putOffBundle(bundle, deferral, this.#context);
  }

  tick(nowMs: number): void {
    if (this.waiting.size === 0) this.drain.ranDry();
    this.drain.tick(nowMs);
  }

  /** Things have become worse: what may not wait any more is put off. */
  review(): void {
    for (const job of this.waiting.takeAll()) {
      const deferral = this.#deferralOf(job);
      if (deferral === undefined || !this.#putOff(job, deferral)) this.#keep(job);
    }
  }

  /** Somebody else delivers what waits of revoked partitions. */
  releaseRevoked(): void {
    for (const job of releaseRevoked(this.waiting.takeAll())) this.#keep(job);
  }

  /** By its own fault: one that waits for its rate limit is not. */
  get isBehind(): boolean {
    const { slots, rate } = this.#parts;
    if (this.waiting.size <= slots.max || !rate.isReady) return false;
    return (this.drain.drainMs(this.waiting.size) ?? 0) > behindMs;
  }

  /**
   * What waits of a paused topic does not wait for ever: behind an open breaker the retry clock runs, and
   * before Kafka removes a record it is written elsewhere. The oldest are at the head of the partition's
   * window, so those behind them are read next.
   */
  reviewPaused(nowMs: number): void {
    if (this.waiting.size === 0 || !this.#parts.isDedicated()) return;
    if (nowMs - this.#reviewedMs < pausedReviewMs) return;
    this.#reviewedMs = nowMs;
    const { openForMs } = this.#parts.endpoints;
    for (const job of this.waiting.takeAll()) {
      if (!job.claim.dedicated) this.#keep(job);
      else {
        if (openForMs > 0) this.#startClock(job, nowMs - openForMs);
        if (!this.#spill(job, nowMs)) this.#keep(job);
      }
    }
  }

  /** From the breaker's opening or from the record's append, whichever is later. */
  #startClock(job: Job, openedMs: number): void {
    const { windowMs } = this.#context.policy;
    job.deadlineMs ??= Math.max(openedMs, job.record.timestampMs) + windowMs;
  }

  #spill(job: Job, nowMs: number): boolean {
    if (job.deadlineMs !== undefined && nowMs >= job.deadlineMs) {
      this.#context.disposal.deadLetter(job, 'expired', 'breaker', job.envelope.attempts);
      return true;
    }
    if (nowMs - job.record.timestampMs < this.#context.policy.spillAfterMs) return false;
    return putOff(job, { cause: 'retention', wantedMs: 0 }, this.#context);
  }

  /** Keeps what can be worked off in time. */
  shedExcess(): void {
    const wantedMs = this.#drainMs();
    const inTime = wantedMs === 0 ? 0 : Math.floor((this.waiting.size * behindMs) / wantedMs);
    const kept = Math.max(this.#parts.slots.max, inTime);
    for (const job of this.waiting.takeAll()) {
      const isExcess = this.waiting.size >= kept;
      if (!isExcess || !this.#putOff(job, { cause: 'lane', wantedMs })) this.#keep(job);
    }
  }

  /** Undefined: the job may wait, or has to. */
  #deferralOf(job: Job): Deferral | undefined {
    return this.#mustWait(job) ? undefined : this.#deferral(job.hasReturned);
  }

  #deferral(hasReturned: boolean): Deferral | undefined {
    const { endpoints, hold, rate, slots } = this.#parts;
    const isSlowRefused = this.#parts.isSlowRefused();
    if (!endpoints.troubled && !hold.isOn && !rate.isLimited && !isSlowRefused) return undefined;
    const nowMs = this.#context.clock.now();
    const { size, returned } = this.waiting;
    return deferralOf(
      {
        availability: endpoints.availability,
        openForMs: endpoints.openForMs,
        waiting: size,
        returned,
        maxInFlight: slots.max,
        heldMs: hold.leftMs(nowMs),
        rateWaitMs: rate.waitBehindMs(aheadOf(hasReturned, returned, size)),
        isSlowRefused,
        failingForMs: this.#parts.failingForMs(),
        drainMs: this.#drainMs(),
      },
      hasReturned,
    );
  }

  /** What is packed takes less memory than what waits here. */
  #fullness(): Deferral | undefined {
    if (this.waiting.size < enoughWaiting) return undefined;
    return { cause: 'lane', wantedMs: this.#drainMs() };
  }

  #mustWait(job: Job): boolean {
    return job.claim.dedicated && this.#parts.isDedicated() && !this.#parts.rate.isElsewhere;
  }

  #putOff(job: Job, { cause, wantedMs }: Deferral): boolean {
    if (this.#mustWait(job)) return false;
    const { rate } = this.#parts;
    // What is in the dedicated topic already, and not at its home, takes the long way, through a retry topic:
    // two that differ about the home for a while would send it to and fro without end.
    if (cause === 'rate-limit' && this.#parts.isDedicated() && !job.claim.dedicated) {
      this.#context.disposal.sendHome(job);
      return true;
    }
    const turnMs = cause === 'rate-limit' ? rate.reserve(wantedMs) : wantedMs;
    if (putOff(job, { cause, wantedMs: turnMs }, this.#context)) return true;
    if (!rate.isElsewhere) return false;
    const { attempts } = job.envelope;
    this.#context.disposal.deadLetter(job, 'expired', 'no turn in time', attempts);
    return true;
  }

  #keep(job: Job): void {
    if (!this.waiting.add(job)) this.waiting.addAnyway(job);
  }

  /** A lane that ends nothing at all is the breaker's business soon; until then the shortest tier will do. */
  #drainMs(): number {
    const drainMs = this.drain.drainMs(this.waiting.size) ?? 0;
    return Number.isFinite(drainMs) ? drainMs : 0;
  }
}
