import type { LoginState } from '../token/tokens.ts';
import type { Availability } from './endpoint.ts';
import { wantedBreakerDelayMs } from '../retry-policy.ts';
import type { DeferralCause } from '../retry-policy.ts';

/** The state of a lane when an event comes to it. */
export interface LaneView {
  /** Availability of the lane's best URL, and for how long that has been away. */
  readonly availability: Availability;
  readonly openForMs: number;
  /** The state of the tokens that its URLs need, and for how long the tries to get one have failed. */
  readonly login: LoginState;
  readonly tokenlessMs: number;
  /** Time since this worker was cut off from the endpoint, if it is. */
  readonly cutOffMs: number | undefined;
  readonly waiting: number;
  /** Waiting events that have come back from a retry topic. */
  readonly returned: number;
  readonly maxInFlight: number;
  /** The most events of one request. */
  readonly together: number;
  /** Time for which the endpoint asked to be left alone. */
  readonly heldMs: number;
  /** Another worker has the rate limit, so this worker sends nothing. */
  readonly isRateElsewhere: boolean;
  /** The lane is slow, and the slots that slow lanes share are taken. */
  readonly isSlowRefused: boolean;
  /** Time for which the lane has had only retryable failures. */
  readonly failingForMs: number;
  /** Time until the waiting events are worked off. */
  readonly drainMs: number;
  /** Other lanes are not behind, so events that wait here must not keep theirs from being read. */
  readonly isOddOneOut: boolean;
  /** The destination has a dedicated topic, which pauses where others defer. */
  readonly isDedicated: boolean;
}

/** The times that an event would have to wait in the lane. */
export interface Prospects {
  /** Time until the rate limit lets the event through, after those before it. */
  readonly rateWaitMs: number;
  /** Time until a turn that the rate limit has promised to no other event. */
  readonly rateTurnMs: number;
  /** Time until the event's turn at the lane's present speed, including the user's earlier events. */
  readonly turnMs: number;
  /** The part of the partition's window that is taken. */
  readonly fullness: number;
}

export interface Deferral {
  readonly cause: DeferralCause;
  readonly wantedMs: number;
}

/** An event that can go within this time waits, because a copy in a retry topic would come back later. */
const shortWaitMs = 2_000;
/** A record that has come back may wait for its turn as long as the shortest tier would take. */
const returnedWaitMs = 10_000;
/**
 * The number of events that may wait for a rate limit. All of them come from one partition of `delivery` or of a retry
 * topic, and half of its window (see `reader.ts`) is left for other destinations.
 */
const mostLimited = { fresh: 512, returned: 128 };
/**
 * The part of the time that they wait in a crowded window, because several limited destinations may have their home
 * in one partition.
 */
const crowdedPart = 0.1;
/** A window that is less full than this delays no destination. */
export const crowded = 0.5;
/** The longest time that an event may wait in a window that has just become crowded, and in one that is full. */
const crowdedWaitMs = 10_000;
export const fullWaitMs = 4_000;

/**
 * The reason not to take an event into the lane's queue now, and the time for which it should stay away; undefined: it
 * is taken.
 */
export function deferralOf(
  view: LaneView,
  prospects: Prospects,
  hasReturned: boolean,
): Deferral | undefined {
  // A token usually comes within a fraction of a second. Until then, events wait here where others have room.
  if (view.login === 'away' || (view.login === 'awaited' && prospects.fullness >= crowded))
    return { cause: 'token', wantedMs: wantedBreakerDelayMs(view.tokenlessMs, hasReturned) };
  // A few events wait for the probe's result. More would fill up partitions, because a probe may take a whole
  // timeout.
  const probing = view.availability === 'wait' && view.waiting >= view.maxInFlight;
  if (view.availability === 'no' || probing)
    return { cause: 'breaker', wantedMs: wantedBreakerDelayMs(view.openForMs, hasReturned) };
  // Other destinations' events are read meanwhile, and some that wait here are there to probe with.
  if (view.cutOffMs !== undefined && prospects.fullness >= crowded)
    return { cause: 'cut-off', wantedMs: wantedBreakerDelayMs(view.cutOffMs, hasReturned) };
  if (view.heldMs > shortWaitMs) return { cause: 'retry-after', wantedMs: view.heldMs };
  if (prospects.rateWaitMs > mayWaitMs(view, prospects, hasReturned))
    return { cause: 'rate-limit', wantedMs: prospects.rateTurnMs };
  // Without a slot, the events of one request may wait for their turn.
  if (view.isSlowRefused && view.waiting >= view.together)
    return { cause: 'slow', wantedMs: slowDelayMs(view, hasReturned) };
  return undefined;
}

/**
 * A lane may hold what it can drain. Only where its events crowd a partition's window, behind which other
 * destinations' events wait, does it put off those with a long time to wait. The fuller the window, the
 * shorter that time.
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

/** The longest time that an event may wait for its turn under a rate limit. */
function mayWaitMs(
  { waiting, returned }: LaneView,
  { fullness }: Prospects,
  hasReturned: boolean,
): number {
  const areMany = hasReturned
    ? returned >= mostLimited.returned
    : waiting - returned >= mostLimited.fresh;
  if (areMany) return 0;
  const longestMs = hasReturned ? returnedWaitMs : shortWaitMs;
  return fullness < crowded ? longestMs : crowdedPart * longestMs;
}

/**
 * A lane that only fails puts events off as behind an open breaker, because it may lack the slots to open its
 * own.
 */
function slowDelayMs({ failingForMs, drainMs }: LaneView, hasReturned: boolean): number {
  if (failingForMs === 0) return drainMs;
  return Math.max(drainMs, wantedBreakerDelayMs(failingForMs, hasReturned));
}
