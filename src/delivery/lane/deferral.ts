import type { Availability } from './endpoint.ts';
import { wantedBreakerDelayMs } from '../retry-policy.ts';
import type { DeferralCause } from '../retry-policy.ts';

/** What a lane knows when a record comes to it. */
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
  /** Until the rate limit lets the record through, after those before it. */
  readonly rateWaitMs: number;
  /** It is slow, and the slots that slow lanes share are taken. */
  readonly isSlowRefused: boolean;
  /** For so long it has had retryable failures and nothing else. */
  readonly failingForMs: number;
  /** Until what waits is worked off. */
  readonly drainMs: number;
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

/** Why a record is not taken into a lane's queue now, and how long it should stay away; undefined: it is. */
export function deferralOf(view: LaneView, hasReturned: boolean): Deferral | undefined {
  // A few wait for the probe's result; it may take a whole timeout, and partitions must not fill up.
  const probing = view.availability === 'wait' && view.waiting >= view.maxInFlight;
  if (view.availability === 'no' || probing)
    return { cause: 'breaker', wantedMs: wantedBreakerDelayMs(view.openForMs, hasReturned) };
  if (view.heldMs > shortWaitMs) return { cause: 'retry-after', wantedMs: view.heldMs };
  if (view.rateWaitMs > mayWaitMs(view, hasReturned))
    return { cause: 'rate-limit', wantedMs: view.rateWaitMs };
  if (view.isSlowRefused && view.waiting >= slowWaiting)
    return { cause: 'slow', wantedMs: slowDelayMs(view, hasReturned) };
  return undefined;
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
