import type { Availability } from './endpoint.ts';
import { wantedBreakerDelayMs } from '../retry-policy.ts';
import type { DeferralCause } from '../retry-policy.ts';

/** What a lane knows when an event comes to it. */
export interface LaneView {
  /** Of its best URL, and since when that has been away. */
  readonly availability: Availability;
  readonly openForMs: number;
  readonly waiting: number;
  /** Of them, those that have come back. */
  readonly returned: number;
  readonly maxInFlight: number;
  /** For so long its endpoint wants to be left alone. */
  readonly heldMs: number;
  /** Another worker has its rate limit: nothing goes from here. */
  readonly isRateElsewhere: boolean;
  /** It is slow, and the slots that slow lanes share are taken. */
  readonly isSlowRefused: boolean;
  /** For so long it has had retryable failures and nothing else. */
  readonly failingForMs: number;
  /** Until what waits is worked off. */
  readonly drainMs: number;
  /** Others are not behind: what waits here must not keep their events from being read. */
  readonly isOddOneOut: boolean;
  /** Its destination has a topic of its own, which pauses where others defer. */
  readonly isDedicated: boolean;
}

/** What an event has to wait for in the lane. */
export interface Prospects {
  /** Until the rate limit lets it through, after those before it. */
  readonly rateWaitMs: number;
  /** Until a time that the rate limit has promised to nobody. */
  readonly rateTurnMs: number;
  /** Until its turn, as fast as the lane is now; those of its user that come before it included. */
  readonly turnMs: number;
  /** The part of its partition's window that is taken. */
  readonly fullness: number;
}

export interface Deferral {
  readonly cause: DeferralCause;
  readonly wantedMs: number;
}

/** So short a wait is waited for; a copy in a retry topic would come back later than that. */
const shortWaitMs = 2_000;
/** A record that has come back may wait for its turn as long as the shortest tier would take. */
const returnedWaitMs = 10_000;
/**
 * So many may wait for a rate limit. All of them come from one partition of `delivery` or of a retry topic,
 * and half of its window (see `reader.ts`) is left for its other destinations' events.
 */
const mostLimited = { fresh: 512, returned: 128 };
/** Of a slow lane without a slot, for its turn. */
const slowWaiting = 1;
/** A window that is less full than this lets everybody's events through. */
const crowded = 0.5;
/** How long an event may wait in a window that is crowded, but not full yet; and in one that is full. */
const crowdedWaitMs = 10_000;
export const fullWaitMs = 4_000;

/** Why an event is not taken into a lane's queue now, and how long it should stay away; undefined: it is. */
export function deferralOf(
  view: LaneView,
  prospects: Prospects,
  hasReturned: boolean,
): Deferral | undefined {
  // A few wait for the probe's result; it may take a whole timeout, and partitions must not fill up.
  const probing = view.availability === 'wait' && view.waiting >= view.maxInFlight;
  if (view.availability === 'no' || probing)
    return { cause: 'breaker', wantedMs: wantedBreakerDelayMs(view.openForMs, hasReturned) };
  if (view.heldMs > shortWaitMs) return { cause: 'retry-after', wantedMs: view.heldMs };
  if (prospects.rateWaitMs > mayWaitMs(view, hasReturned))
    return { cause: 'rate-limit', wantedMs: prospects.rateTurnMs };
  if (view.isSlowRefused && view.waiting >= slowWaiting)
    return { cause: 'slow', wantedMs: slowDelayMs(view, hasReturned) };
  return undefined;
}

/**
 * A lane may hold what it can drain. Only where its events crowd a partition's window, behind which others'
 * events wait, those that have a long time to wait are put off: the fuller the window, the shorter that time.
 */
export function backlogDeferral(
  { isOddOneOut }: LaneView,
  { turnMs, fullness }: Prospects,
): Deferral | undefined {
  if (!isOddOneOut || fullness < crowded) return undefined;
  const roomLeft = (1 - fullness) / (1 - crowded);
  if (turnMs <= Math.max(fullWaitMs, crowdedWaitMs * roomLeft)) return undefined;
  return { cause: 'lane', wantedMs: turnMs };
}

/** For its turn under a rate limit. */
function mayWaitMs({ waiting, returned }: LaneView, hasReturned: boolean): number {
  if (hasReturned) return returned < mostLimited.returned ? returnedWaitMs : 0;
  return waiting - returned < mostLimited.fresh ? shortWaitMs : 0;
}

/** One that fails all the time stays away as behind a breaker, which it may lack the slots to open. */
function slowDelayMs({ failingForMs, drainMs }: LaneView, hasReturned: boolean): number {
  if (failingForMs === 0) return drainMs;
  return Math.max(drainMs, wantedBreakerDelayMs(failingForMs, hasReturned));
}
