import { isTrouble, type DestinationState } from '../../event/destination-state.ts';
import type { BreakerState } from '../lane/breaker.ts';
import type { Outcome } from '../outcome.ts';

/** What is known of one URL. Times are epoch milliseconds. */
export interface UrlFacts {
  readonly breaker: BreakerState;
  /** When its breaker lets a request through, while it is open. */
  readonly probeAtMs: number | undefined;
  /** Answers and failures that were no delivery, without one between them. */
  readonly failuresInRow: number;
  /** When the first and the last of them ended; undefined without one. */
  readonly failingSinceMs: number | undefined;
  readonly lastMs: number | undefined;
  /** What the last request came to. */
  readonly last: Outcome | undefined;
}

/** By an operator's wish. */
export type SwitchedOff = Extract<DestinationState, 'disabled' | 'paused'>;

/** What is known of a destination now: what `standingOf` decides by. */
export interface DestinationFacts {
  readonly configured: 'enabled' | SwitchedOff | 'unreadable';
  readonly urls: readonly UrlFacts[];
  /** It has asked to be left alone, once or again and again; `untilMs` in the pauses too. */
  readonly hold: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  readonly isSaturated: boolean;
  readonly isSlow: boolean;
  readonly isLimited: boolean;
}

/** How a destination is, and since when. */
export interface Standing {
  readonly state: DestinationState;
  readonly sinceMs: number;
  /** What it has looked like since then; its state too, once that has lasted. */
  readonly looks: DestinationState;
  readonly looksSinceMs: number;
}

/** A destination's state is another one than was said last. Times are epoch milliseconds. */
export interface StateChange {
  readonly destination: string;
  readonly state: DestinationState;
  readonly was: DestinationState;
  readonly sinceMs: number;
  /** So long it was what it was; of one that is well again. */
  readonly afterMs: number;
  /** Events that wait here and in retry topics; the most there were, where it is well again. */
  readonly waiting: number;
  /** The URL in question, and what it answered last. */
  readonly url: string | undefined;
  readonly last: Outcome | undefined;
  /** The end of its hold, or its breaker's next probe. */
  readonly untilMs: number | undefined;
}

/** So long a lane looks slow, saturated or limited, or does not any more, before it is said. */
const lastingMs = 10_000;
/** A shorter hold is how 429 slows a lane down. */
const longHoldMs = 10_000;
/** So many failures without a success, for so long: one bad event, or a restart, is not a failing endpoint. */
const failures = { quick: { inRow: 5, forMs: 5_000 }, rare: { inRow: 2, forMs: 60_000 } } as const;

/**
 * The only place that decides how a destination is. Gives `former` itself where nothing has changed.
 * @param former what was said of it before; undefined: nothing, or that it was well
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

/** From trouble to something that has to last: it is well until then. */
function settled(looks: DestinationState, before: Standing): DestinationState {
  return isSudden(before.state) && !isSudden(looks) ? 'ok' : looks;
}

/** Said at once: it is no matter of traffic. */
function isSudden(state: DestinationState): boolean {
  return isTrouble(state) || state === 'disabled' || state === 'paused';
}

interface Appearance {
  readonly state: DestinationState;
  /** Undefined: since it is seen. */
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

/** @param isKnown it has been said that it fails: then only a success ends that */
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
