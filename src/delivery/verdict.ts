import { ageFromMs } from '../event/envelope.ts';
import type { Envelope } from '../event/envelope.ts';
import { untriedText } from '../event/last-answer.ts';
import type { FencedBy } from '../resources/fence/fence.ts';
import type { BundleHeader } from './bundle/format.ts';
import { backlogDeferral, deferralOf } from './lane/deferral.ts';
import type { Deferral, LaneView, Prospects } from './lane/deferral.ts';
import { lackText } from './outcome.ts';
import type { DeadLetterReason, Outcome, Permanent, Retryable, RetryCause } from './outcome.ts';
import { endMs, planDeferral, planRetry, wantedBreakerDelayMs } from './retry-policy.ts';
import type { Circumstances, DeferralCause, Later } from './retry-policy.ts';

/** The part of an event's state that decisions depend on. A `Job` has all of it. */
export interface EventState {
  readonly envelope: Pick<Envelope, 'attempts' | 'appendTimeMs' | 'redrivenMs' | 'lastAnswer'>;
  /** End of the retry window, once the retry clock runs. */
  readonly deadlineMs: number | undefined;
  /** The event has been through a retry topic. */
  readonly hasReturned: boolean;
  /** The event came to its lane before its retry window was over. */
  readonly isInTime: boolean;
  /** The event was read from its destination's dedicated topic, or not. */
  readonly claim: { readonly dedicated: boolean };
  /** Kafka's append time of the event's record. */
  readonly record: { readonly timestampMs: number };
  /** Its place in the line of its user, if it has one. */
  readonly line?: object | undefined;
}

/** Something that has happened to an event and needs a decision. */
export type Happened =
  /**
   * `offer`: the event is due, and its lane may take it. `review`: it waits in the lane, and the lane's state
   * has changed.
   */
  | {
      readonly kind: 'offer' | 'review';
      readonly lane: LaneView;
      readonly prospects: Prospects;
    }
  /** A slot is free for it. `lacking`: the path of the value for want of which there is no URL to send it to. */
  | {
      readonly kind: 'turn';
      readonly fencedBy: FencedBy | undefined;
      readonly lacking?: string | undefined;
    }
  | {
      readonly kind: 'attempted';
      readonly outcome: Outcome;
      /** The time for which the event may keep its place in the line of its user; undefined: it has none. */
      readonly placeLeftMs?: number | undefined;
    }
  /** Nothing is sent to its destination any more. */
  | {
      readonly kind: 'unwanted';
      readonly reason: DeadLetterReason;
      /** The obstacle to an attempt, if the reason does not say it all. */
      readonly cause?: string;
    }
  /** Its destination is paused. */
  | { readonly kind: 'paused' }
  /** Its destination exists, and this worker cannot read its secrets. */
  | { readonly kind: 'unreadable' }
  /** The dedicated topic in which it should wait for its turn cannot be written. */
  | { readonly kind: 'homeless' };

/** Why nothing is sent to a destination anymore. */
export type Over = Extract<Happened, { kind: 'unwanted' | 'paused' }>;

/** The decision about an event. */
export type Verdict = Stay | Ending;

/** The event stays with its lane, or with the caller. */
export type Stay =
  | { readonly kind: 'deliver' }
  /** `deadlineMs`: its retry clock runs from now on. */
  | { readonly kind: 'wait'; readonly deadlineMs?: number | undefined }
  /** The only time left is now: it goes before others, and also out of a lane that is held. */
  | { readonly kind: 'hurry' }
  | Stand;

/** The event waits in its place for its next attempt, and later ones of its user behind it. */
export interface Stand {
  readonly kind: 'stand';
  readonly plan: Later;
  /** Undefined: what happened was no attempt. */
  readonly outcome?: Retryable;
}

/** The event's record ends here. */
export type Ending =
  | { readonly kind: 'finish' }
  | { readonly kind: 'drop'; readonly fencedBy: FencedBy }
  /** Kept until its destination is resumed. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'retry'; readonly plan: Later; readonly outcome: Retryable }
  | PutOff
  /** Into its destination's own topic, where the rate limit is. */
  | { readonly kind: 'send-home' }
  | GiveUp;

export interface GiveUp {
  readonly kind: 'give-up';
  readonly reason: DeadLetterReason;
  readonly detail: string;
  /** The outcome of the last attempt, if that is the reason. */
  readonly outcome?: Retryable | Permanent | undefined;
  /** Attempts that were made. */
  readonly attempts: number;
}

/** The event is copied to a retry topic without an attempt. */
export interface PutOff {
  readonly kind: 'put-off';
  readonly cause: DeferralCause;
  readonly plan: Later;
}

const deliver: Stay = { kind: 'deliver' };
const wait: Stay = { kind: 'wait' };
const hurry: Stay = { kind: 'hurry' };
const finish: Ending = { kind: 'finish' };
const keep: Ending = { kind: 'keep' };

/** Decides what becomes of an event after something has happened to it. No other code decides that. */
export function decide(event: EventState, happened: Happened, now: Circumstances): Verdict {
  switch (happened.kind) {
    case 'offer':
    case 'review':
      return mustWait(event, happened.lane)
        ? whilePaused(event, happened, now)
        : whileWaiting(event, happened, now);
    case 'turn':
      return atItsTurn(event, happened, now);
    case 'attempted':
      return afterAttempt(event, happened, now);
    case 'unwanted':
      return giveUp(event, happened.reason, happened.cause ?? '');
    case 'paused':
      return whileDestinationPaused(event, now);
    case 'unreadable':
      return whileUnreadable(event, now);
    case 'homeless':
      return whileHomeless(event, now);
  }
}

/** The decision ends the event's record. */
export function isEnding(verdict: Verdict): verdict is Ending {
  const { kind } = verdict;
  return kind !== 'deliver' && kind !== 'wait' && kind !== 'hurry' && kind !== 'stand';
}

/** Decides about a bundle as a whole; undefined: its events need separate decisions. */
export function decideOnBundle(
  { deadlineMs, oldestMs }: Pick<BundleHeader, 'deadlineMs' | 'oldestMs'>,
  deferral: Deferral,
  now: Circumstances,
): PutOff | undefined {
  const { cause, wantedMs } = deferral;
  // Under a rate limit, each event has its own turn.
  if (cause === 'rate-limit') return undefined;
  // Each event's own clock stands still.
  if (cause === 'token' && deadlineMs !== undefined) return undefined;
  const plan = planDeferral({ attempts: 0, deadlineMs }, cause, wantedMs, oldestMs, now);
  return plan.kind === 'later' ? { kind: 'put-off', cause, plan } : undefined;
}

/**
 * The same delay as behind an open breaker: an operator has to fix the destination, which may take a minute
 * or a day.
 */
export function unreadableDeferral(fromMs: number, hasReturned: boolean, nowMs: number): Deferral {
  return { cause: 'unreadable', wantedMs: wantedBreakerDelayMs(nowMs - fromMs, hasReturned) };
}

type InLane = Extract<Happened, { kind: 'offer' | 'review' }>;

/** A dedicated topic pauses where shared topics defer. */
function mustWait({ claim }: EventState, lane: LaneView): boolean {
  return claim.dedicated && lane.isDedicated && !lane.isRateElsewhere;
}

/**
 * Events of a paused dedicated topic do not wait without end: behind an open breaker the retry clock runs,
 * and a record is written elsewhere before Kafka would remove it. The oldest events are at the head of the
 * partition's window, so the next ones are read when they leave.
 */
function whilePaused(event: EventState, { kind, lane }: InLane, now: Circumstances): Verdict {
  if (kind === 'offer') return wait;
  const { nowMs, policy } = now;
  const { timestampMs } = event.record;
  const openedMs = nowMs - lane.openForMs;
  const startsMs = lane.openForMs > 0 ? Math.max(openedMs, timestampMs) : undefined;
  const deadlineMs =
    event.deadlineMs ?? (startsMs === undefined ? undefined : startsMs + policy.windowMs);
  if (deadlineMs !== undefined && nowMs >= endMs(deadlineMs, now))
    return giveUp(event, 'expired', 'breaker');
  if (nowMs - timestampMs < policy.spillAfterMs) return { kind: 'wait', deadlineMs };
  return putOff(event, { cause: 'retention', wantedMs: 0 }, now, deadlineMs);
}

function whileWaiting(event: EventState, happened: InLane, now: Circumstances): Verdict {
  const { lane, prospects } = happened;
  const deferral =
    deferralOf(lane, prospects, event.hasReturned) ?? backlogDeferral(lane, prospects);
  if (deferral === undefined) return wait;
  // An event that is in the dedicated topic already, but not at its home, goes there through a retry topic.
  // Two workers that temporarily disagree about the home would otherwise send it back and forth without end.
  if (deferral.cause === 'rate-limit' && lane.isDedicated && !event.claim.dedicated)
    return { kind: 'send-home' };
  const verdict = putOff(event, deferral, now);
  // However urgent the event is, this worker does not have the rate limit, or the limit lets it through too late. To
  // wait for that would keep the events of others behind it from being read.
  const hasNoTurn = lane.isRateElsewhere || isTooLate(event, deferral, prospects, now);
  if (verdict.kind === 'hurry' && hasNoTurn) return giveUp(event, 'expired', 'no turn in time');
  return verdict;
}

function isTooLate(
  { deadlineMs }: EventState,
  { cause }: Deferral,
  { rateWaitMs }: Prospects,
  now: Circumstances,
): boolean {
  if (cause !== 'rate-limit' || deadlineMs === undefined) return false;
  return now.nowMs + rateWaitMs > endMs(deadlineMs, now);
}

function atItsTurn(
  event: EventState,
  { fencedBy, lacking }: Extract<Happened, { kind: 'turn' }>,
  now: Circumstances,
): Verdict {
  if (fencedBy !== undefined) return { kind: 'drop', fencedBy };
  if (lacking !== undefined) return giveUp(event, 'no-url', lackText(lacking));
  if (event.deadlineMs === undefined || now.nowMs <= endMs(event.deadlineMs, now)) return deliver;
  // If the event came in time, its own destination kept it from a turn: by its rate limit, or by being slow.
  return event.isInTime
    ? giveUp(event, 'expired', 'no turn in time')
    : giveUp(event, 'expired-late', '');
}

/**
 * Causes that say nothing about the endpoint. The same event goes out again when this worker is connected again, or
 * has another token.
 */
const isNoAttempt: ReadonlySet<RetryCause> = new Set(['cut-off', 'proxy', 'token']);

function afterAttempt(
  event: EventState,
  { outcome, placeLeftMs }: Extract<Happened, { kind: 'attempted' }>,
  now: Circumstances,
): Verdict {
  if (outcome.kind === 'delivered') return finish;
  if (outcome.kind === 'retryable' && isNoAttempt.has(outcome.cause)) return wait;
  const attempts = event.envelope.attempts + 1;
  const { detail } = outcome;
  if (outcome.kind === 'permanent')
    return { kind: 'give-up', reason: outcome.reason, detail, outcome, attempts };
  if (outcome.cause === 'local') {
    // This worker lacked a resource. That does not count as an attempt, if there is time for another one.
    const verdict = putOff(event, { cause: 'local', wantedMs: 0 }, now);
    if (verdict.kind === 'put-off')
      return placeLeftMs === undefined ? verdict : { kind: 'stand', plan: verdict.plan };
  }
  const state = { attempts, deadlineMs: event.deadlineMs };
  const plan = planRetry(state, outcome.retryAfterMs ?? 0, now);
  if (plan.kind !== 'later')
    return { kind: 'give-up', reason: plan.reason, detail, outcome, attempts };
  if (placeLeftMs === undefined || placeLeftMs <= 0) return { kind: 'retry', plan, outcome };
  // The last attempt in its place comes at the end.
  const dueMs = Math.min(plan.dueMs, now.nowMs + placeLeftMs);
  return { kind: 'stand', plan: { ...plan, dueMs }, outcome };
}

/**
 * Kept elsewhere, an event would come back behind later ones of its user. So one with a place in a line waits in its
 * topic, until Kafka would remove it.
 */
function whileDestinationPaused({ line, record }: EventState, now: Circumstances): Verdict {
  const mayWait = line !== undefined && now.nowMs - record.timestampMs < now.policy.spillAfterMs;
  return mayWait ? wait : keep;
}

/**
 * An event of a dedicated topic waits there, because no other destination's events stand behind it. Before Kafka
 * would remove it, it is written elsewhere.
 */
function whileUnreadable(event: EventState, now: Circumstances): Verdict {
  const { claim, envelope, hasReturned, record } = event;
  if (claim.dedicated && now.nowMs - record.timestampMs < now.policy.spillAfterMs) return wait;
  const deferral: Deferral = claim.dedicated
    ? { cause: 'retention', wantedMs: 0 }
    : unreadableDeferral(ageFromMs(envelope), hasReturned, now.nowMs);
  const verdict = putOff(event, deferral, now);
  return verdict.kind === 'hurry' ? giveUp(event, 'expired-late', deferral.cause) : verdict;
}

/** An operator has to mend the topic, which may take a minute or a day. Until then it cannot have its turn. */
function whileHomeless(event: EventState, now: Circumstances): Verdict {
  const { envelope, hasReturned } = event;
  const { wantedMs } = unreadableDeferral(ageFromMs(envelope), hasReturned, now.nowMs);
  const verdict = putOff(event, { cause: 'rate-limit', wantedMs }, now);
  return verdict.kind === 'hurry' ? giveUp(event, 'expired', 'no turn in time') : verdict;
}

function putOff(
  event: EventState,
  { cause, wantedMs }: Deferral,
  now: Circumstances,
  deadlineMs = event.deadlineMs,
): Verdict {
  const state = { attempts: event.envelope.attempts, deadlineMs };
  const plan = planDeferral(state, cause, wantedMs, ageFromMs(event.envelope), now);
  switch (plan.kind) {
    case 'later':
      return { kind: 'put-off', cause, plan };
    case 'give-up':
      return giveUp(event, plan.reason, cause);
    case 'no-time-left':
      return hurry;
  }
}

/** Gives up without another attempt. `cause`: what prevented one. */
function giveUp({ envelope }: EventState, reason: DeadLetterReason, cause: string): Verdict {
  const { attempts, lastAnswer } = envelope;
  return { kind: 'give-up', reason, detail: untriedText(cause, attempts, lastAnswer), attempts };
}
