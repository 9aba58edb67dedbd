import { isTrouble, type DestinationState } from '../../event/destination-status.ts';
import type { BreakerState } from '../lane/breaker.ts';
import type { Outcome } from '../outcome.ts';

/** The facts about one URL. Times are epoch milliseconds. */
export interface UrlFacts {
  /** The URL's own, or `open` while its authorization server gives no token. */
  readonly breaker: BreakerState;
  /** The time when its open breaker lets a request through. */
  readonly probeAtMs: number | undefined;
  /** Answers and failures that were not successes, since the last success. */
  readonly failuresInRow: number;
  /** The times when the first and the last of these failures ended; undefined without one. */
  readonly failingSinceMs: number | undefined;
  readonly lastMs: number | undefined;
  /** The outcome of the last request. */
  readonly last: Outcome | undefined;
}

/** The states that an operator caused. */
export type SwitchedOff = Extract<DestinationState, 'disabled' | 'paused'>;

/** The facts about a destination by which `standingOf` decides. */
export interface DestinationFacts {
  readonly configured: 'enabled' | SwitchedOff | 'unreadable';
  readonly urls: readonly UrlFacts[];
  /**
   * The endpoint asked to be left alone, once or repeatedly; `untilMs` is set in pauses between holds too.
   */
  readonly hold: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  readonly isSaturated: boolean;
  readonly isSlow: boolean;
  readonly isLimited: boolean;
}

/** The state of a destination, and since when. */
export interface Standing {
  readonly state: DestinationState;
  readonly sinceMs: number;
  /** The present impression. It becomes the state once it has lasted. */
  readonly looks: DestinationState;
  readonly looksSinceMs: number;
}

/** A destination's state differs from the last one reported. Times are epoch milliseconds. */
export interface StateChange {
  readonly destination: string;
  readonly state: DestinationState;
  readonly was: DestinationState;
  readonly sinceMs: number;
  /** The duration of the former state, or for a recovery, of the trouble. */
  readonly afterMs: number;
  /** Events that wait here and in retry topics; for a recovery, the most that waited. */
  readonly waiting: number;
  /** The URL in question, and its last answer. */
  readonly url: string | undefined;
  readonly last: Outcome | undefined;
  /** The end of the hold, or the time of the breaker's next probe. */
  readonly untilMs: number | undefined;
}

/** A lane must look slow, saturated or limited, or no longer so, for so long before that is reported. */
const lastingMs = 10_000;
/** A shorter hold is how 429 slows a lane. */
const longHoldMs = 10_000;
/**
 * So many failures without a success, over such a time, make an endpoint failing. One bad event, or a
 * restart, does not.
 */
const failures = { quick: { inRow: 5, forMs: 5_000 }, rare: { inRow: 2, forMs: 60_000 } } as const;

/**
 * Decides a destination's state; no other code does. Returns `former` itself if nothing has changed.
 * @param former the state that was reported before; undefined: none, or the destination was well
 */
export function standingOf(
  former: Standing | undefined,
  facts: DestinationFacts,
  nowMs: number,
): Standing {
  const before = former ?? { state: 'ok', sinceMs: nowMs, looks: 'ok', looksSinceMs: nowMs };
  const { state: looks, sinceMs } = appearanceOf(before.state, facts, nowMs);
  const looksSinceMs = looks === before.looks ? before.looksSinceMs : nowMs;
  const mustLast = !isSudden(looks) && !isSudden(before.state);
  const state =
    mustLast && nowMs - looksSinceMs < lastingMs ? before.state : settled(looks, before);
  if (state === before.state && looks === before.looks && former !== undefined) return former;
  if (state === before.state) return { ...before, looks, looksSinceMs };
  return { state, sinceMs: sinceMs ?? looksSinceMs, looks, looksSinceMs };
}

/** After trouble, a state that has to last first: until it has lasted, the destination is well. */
function settled(looks: DestinationState, before: Standing): DestinationState {
  return isSudden(before.state) && !isSudden(looks) ? 'ok' : looks;
}

/** The state is reported at once, because it does not depend on traffic. */
function isSudden(state: DestinationState): boolean {
  return isTrouble(state) || state === 'disabled' || state === 'paused';
}

interface Appearance {
  readonly state: DestinationState;
  /** Undefined if the state holds since it is seen. */
  readonly sinceMs?: number | undefined;
}

function appearanceOf(
  former: DestinationState,
  facts: DestinationFacts,
  nowMs: number,
): Appearance {
  if (facts.configured !== 'enabled') return { state: facts.configured };
  const failing = facts.urls.filter((url) => isFailing(url, isTrouble(former)));
  if (failing.length > 0) {
    const sinceMs = Math.min(...failing.map(({ failingSinceMs = nowMs }) => failingSinceMs));
    const isPatience = failing.length === facts.urls.length && failing.every(asksForPatience);
    return { state: isPatience ? 'held' : 'failing', sinceMs };
  }
  if (isHeld(facts, former, nowMs)) return { state: 'held', sinceMs: facts.hold?.sinceMs };
  if (facts.isSaturated) return { state: 'saturated' };
  if (facts.isSlow) return { state: 'slow' };
  return { state: facts.isLimited ? 'limited' : 'ok' };
}

/** @param isKnown the URL was reported as failing, and only a success ends that */
function isFailing(url: UrlFacts, isKnown: boolean): boolean {
  const { breaker, failuresInRow, failingSinceMs = 0, lastMs = 0 } = url;
  if (breaker !== 'closed') return true;
  if (isKnown && failuresInRow > 0) return true;
  const forMs = lastMs - failingSinceMs;
  const { quick, rare } = failures;
  return (
    (failuresInRow >= quick.inRow && forMs >= quick.forMs) ||
    (failuresInRow >= rare.inRow && forMs >= rare.forMs)
  );
}

function asksForPatience({ breaker, last }: UrlFacts): boolean {
  if (breaker !== 'closed' || last?.kind !== 'retryable') return false;
  return last.cause === 'status-429' || last.retryAfterMs !== undefined;
}

function isHeld({ hold }: DestinationFacts, former: DestinationState, nowMs: number): boolean {
  if (hold === undefined) return false;
  return (
    former === 'held' ||
    nowMs - hold.sinceMs >= longHoldMs ||
    hold.untilMs - hold.sinceMs >= longHoldMs
  );
}
