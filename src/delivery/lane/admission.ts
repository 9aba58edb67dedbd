import type { Destination } from '../../resources/resource.ts';
import type { Bundle } from '../bundle/bundle.ts';
import type { Claim, Job } from '../job.ts';
import type { PreparedDestination } from '../prepared-destination.ts';
import { isShortOfTime, type Circumstances } from '../retry-policy.ts';
import { decide, decideOnBundle, isEnding } from '../verdict.ts';
import { deferralOf } from './deferral.ts';
import type { Deferral, LaneView, Prospects } from './deferral.ts';
import type { LaneEndpoints } from './endpoints.ts';
import type { LaneHold } from './hold.ts';
import type { LaneContext } from './lane-context.ts';
import { OddOneOut, type Pace, type UsualTurns } from './pace.ts';
import type { LaneRate } from './rate-limit.ts';
import { aheadOf, type LaneSlots } from './slots.ts';
import type { WaitingJobs } from './waiting-jobs.ts';

/** The parts of a lane on which it depends who waits. */
export interface AdmissionDeps {
  readonly context: LaneContext;
  readonly waiting: WaitingJobs;
  readonly endpoints: LaneEndpoints;
  readonly hold: LaneHold;
  readonly rate: LaneRate;
  readonly slots: LaneSlots;
  readonly pace: Pace;
  readonly lane: {
    readonly destination: Destination;
    readonly circumstances: Circumstances;
    readonly isSlowRefused: boolean;
    readonly prepared: PreparedDestination;
  };
}

/**
 * Bundles are unpacked only while fewer events than this wait that have come back: some tenths of a second of a
 * lane's work. Fresh ones don't count, because a lane may always have more of them than that.
 */
const enoughWaiting = 512;
/** Recalled records come while a turn takes less: what waits longer may be put off for the sake of others. */
const recalledWaitMs = 2_000;

/** Decides which jobs wait in a lane, and which are put off. */
export class Admission {
  readonly #deps: AdmissionDeps;
  /** The comparison with other lanes, for fresh events and for those that have come back. */
  readonly #oddOneOut = { fresh: new OddOneOut(), returned: new OddOneOut() };
  #wereUnreached = false;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** The lane is behind while others are not. */
  get isOddOneOut(): boolean {
    const { fresh, returned } = this.#oddOneOut;
    return fresh.isOne || returned.isOne;
  }

  /** Time until the turn of the event that waits longest here. */
  get longestTurnMs(): number {
    const { size, longestLine } = this.#deps.waiting;
    return size > 0 ? this.#turnMs(longestLine) : 0;
  }

  /** Lets the job wait, puts it off or gives it up. */
  offer(job: Job): void {
    job.isShortOfTime = this.#isShortOfTime(job);
    if (this.#isAtEase) this.#deps.waiting.add(job);
    else this.#judge(job, 'offer');
  }

  /** Conditions have become worse: events that may no longer wait are put off. */
  review(): void {
    for (const job of this.#deps.waiting.takeAll()) {
      job.isShortOfTime = this.#isShortOfTime(job);
      this.#judge(job, 'review');
    }
  }

  /** Puts the whole bundle off, if each of its events would be put off. */
  putOff(bundle: Bundle): boolean {
    const { context, lane } = this.#deps;
    const deferral = this.#deferralOfBundle(bundle.claim, bundle.header.destinationId);
    const verdict =
      deferral === undefined
        ? undefined
        : decideOnBundle(bundle.header, deferral, lane.circumstances);
    if (verdict === undefined) return false;
    context.disposal.deferBundle(bundle, verdict);
    return true;
  }

  /**
   * A recalled record of the partition would wait here for its turn, and not for long. One that would be put
   * off stays where it is: its copy would not be recalled.
   */
  takesRecalled(claim: Claim): boolean {
    const { endpoints, slots, waiting, lane } = this.#deps;
    if (endpoints.areUnreached || endpoints.login !== 'ready') return false;
    if (endpoints.availability !== 'yes') return false;
    // The next one shows whether the endpoint is back.
    const isProbe = endpoints.closedCount === 0;
    if (isProbe && (slots.inFlight > 0 || waiting.size > 0)) return false;
    // As many as keep all slots busy until this is asked again, also while nobody knows how fast the lane is.
    if (waiting.returned >= 2 * slots.max * this.#together || this.#turnMs(0) > recalledWaitMs)
      return false;
    if (claim.unpackedBytes.areTooMany) return false;
    return this.#deferralOfBundle(claim, lane.destination.id) === undefined;
  }

  /** Must be called about once a second. */
  tick({ freshMs, returnedMs }: UsualTurns): void {
    const turnMs = this.longestTurnMs;
    this.#oddOneOut.fresh.tick(turnMs, freshMs);
    this.#oddOneOut.returned.tick(turnMs, returnedMs);
    const { areUnreached } = this.#deps.endpoints;
    const hasJustLost = areUnreached && !this.#wereUnreached;
    this.#wereUnreached = areUnreached;
    if (this.#mayHaveTooMuch || hasJustLost) this.review();
  }

  /** Nothing prevents an event from waiting here for a slot. */
  get #isAtEase(): boolean {
    const { endpoints, hold, rate, lane } = this.#deps;
    const areAway = endpoints.troubled || endpoints.areUnreached || endpoints.login !== 'ready';
    const isHeldUp = hold.isOn || rate.isLimited || lane.isSlowRefused;
    return !areAway && !isHeldUp && !this.isOddOneOut;
  }

  /** Events that wait here may have to be put off. */
  get #mayHaveTooMuch(): boolean {
    const { waiting, rate, lane, endpoints } = this.#deps;
    if (waiting.size === 0) return false;
    if (endpoints.login !== 'ready') return true;
    // What has come back takes turns under the rate limit that fresh records were to have.
    const isOvertaken = rate.isLimited && waiting.returned > 0;
    return isOvertaken || this.isOddOneOut || lane.isSlowRefused || this.#isDedicated;
  }

  /** The most events of one request. */
  get #together(): number {
    return this.#deps.lane.prepared.batch?.events ?? 1;
  }

  get #isDedicated(): boolean {
    return this.#deps.lane.destination.topic === 'dedicated';
  }

  #isShortOfTime(job: Job): boolean {
    const { lane, waiting } = this.#deps;
    const { deadlineMs } = job;
    if (deadlineMs === undefined) return false;
    const turnMs = this.#turnMs(waiting.aheadOf(job)) + (lane.prepared.batch?.waitMs ?? 0);
    return isShortOfTime(deadlineMs, turnMs, lane.circumstances);
  }

  #judge(job: Job, kind: 'offer' | 'review'): void {
    const { context, rate, waiting } = this.#deps;
    const lane = this.#view(job.hasReturned);
    const prospects = this.#prospectsOf(job, lane);
    const verdict = decide(job, { kind, lane, prospects }, this.#deps.lane.circumstances);
    if (isEnding(verdict)) {
      if (verdict.kind === 'put-off' && verdict.cause === 'rate-limit')
        rate.reserve(prospects.rateTurnMs);
      context.disposal.carryOut(job, verdict);
      if (job.line !== undefined) waiting.keepPlace(job);
      return;
    }
    if (verdict.kind === 'hurry') job.urgent = true;
    if (verdict.kind === 'wait') job.deadlineMs ??= verdict.deadlineMs;
    waiting.add(job);
  }

  /** The deferral that applies to all events of a bundle; undefined if there is none. */
  #deferralOfBundle(claim: Claim, destinationId: string): Deferral | undefined {
    const view = this.#view(true);
    const { waiting, returned } = view;
    const rateWaitMs = this.#deps.rate.waitBehindMs(aheadOf(true, returned, waiting));
    const prospects = { rateWaitMs, rateTurnMs: 0, turnMs: 0, fullness: claim.fullness() };
    const deferral = deferralOf(view, prospects, true);
    if (deferral !== undefined) return deferral;
    const enough = Math.max(enoughWaiting, 2 * this.#together);
    const isEnough = returned >= enough || claim.unpackedBytes.areTooManyOf(destinationId);
    if (!isEnough) return undefined;
    // A packed bundle takes less memory than events that wait here.
    return { cause: 'lane', wantedMs: view.drainMs };
  }

  #view(hasReturned: boolean): LaneView {
    const { context, waiting, endpoints, hold, rate, slots, pace, lane } = this.#deps;
    const { clock } = context;
    return {
      availability: endpoints.availability,
      openForMs: endpoints.openForMs,
      login: endpoints.login,
      tokenlessMs: endpoints.tokenlessMs,
      cutOffMs: endpoints.areUnreached ? context.reachability.forMs : undefined,
      waiting: waiting.size,
      returned: waiting.returned,
      maxInFlight: slots.max,
      together: this.#together,
      heldMs: hold.leftMs,
      isRateElsewhere: rate.isElsewhere,
      isSlowRefused: lane.isSlowRefused,
      failingForMs: pace.failingForMs(clock.steadyNow()),
      drainMs: pace.drainMs(waiting.size),
      isOddOneOut: this.#oddOneOut[hasReturned ? 'returned' : 'fresh'].isOne,
      isDedicated: this.#isDedicated,
    };
  }

  #prospectsOf(job: Job, { returned, waiting }: LaneView): Prospects {
    const { rate } = this.#deps;
    const ahead = job.isShortOfTime
      ? this.#deps.waiting.shortOfTime
      : aheadOf(job.hasReturned, returned, waiting);
    const rateWaitMs = rate.waitBehindMs(ahead);
    return {
      rateWaitMs,
      rateTurnMs: rate.turnMs(rateWaitMs),
      turnMs: this.#turnMs(this.#deps.waiting.aheadOf(job)),
      fullness: job.claim.fullness(),
    };
  }

  /** Time until the turn of an event that comes now, behind others of its user. */
  #turnMs(aheadOfUser: number): number {
    const { context, pace, slots, waiting } = this.#deps;
    const together = this.#together;
    const nowMs = context.clock.steadyNow();
    if (together === 1) return pace.turnMs(aheadOfUser, waiting.queued, slots, nowMs);
    const { areLeft, inFlight } = slots;
    const events = { areLeft, inFlight: inFlight * together };
    return pace.turnMs(Math.floor(aheadOfUser / together), waiting.queued, events, nowMs);
  }
}
