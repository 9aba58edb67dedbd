import type { Clock } from '../ops/clock.ts';
import { dueAfter, longestDelayMs } from '../event/tier-delay.ts';
import type { Reachability } from './reachability.ts';

/** The settings that say when an event is tried again, and when it is given up. */
export interface RetryPolicy {
  /** Ascending, at least one. */
  readonly tiersMs: readonly number[];
  /** Time from an event's first failure to the end of its retries. */
  readonly windowMs: number;
  /** An event older than this is not put off again. */
  readonly maxAgeMs: number;
  /** A record of a paused topic that is older than this is written elsewhere, before Kafka removes it. */
  readonly spillAfterMs: number;
}

/** The policy for a destination that has a window of its own: the shorter one counts. */
export function within(policy: RetryPolicy, windowMs: number | undefined): RetryPolicy {
  return windowMs === undefined || windowMs >= policy.windowMs ? policy : { ...policy, windowMs };
}

/** Time, chance and settings. */
export interface Circumstances {
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly policy: RetryPolicy;
  readonly reachability: Pick<Reachability, 'cutOffMs'>;
}

/** The circumstances at this moment, for a destination with this policy. */
export function circumstances(
  context: Omit<Circumstances, 'nowMs'> & { readonly clock: Clock },
  policy: RetryPolicy = context.policy,
): Circumstances {
  const { clock, random, reachability } = context;
  return { nowMs: clock.now(), random, policy, reachability };
}

/**
 * The end of the retries of an event whose window would end at `deadlineMs`: an outage of our own network in it does
 * not count. The deadline itself stays as it is, because a worker that adds to it would add the same outage again when the
 * event comes back.
 */
export function endMs(deadlineMs: number, { policy, reachability }: Circumstances): number {
  return deadlineMs + reachability.cutOffMs(deadlineMs - policy.windowMs);
}

/** An event that has its turn in `turnMs` comes too late then, or could at least not be put off any more. */
export function isShortOfTime(deadlineMs: number, turnMs: number, now: Circumstances): boolean {
  const [shortestMs = 0] = now.policy.tiersMs;
  const lastMs = endMs(deadlineMs, now);
  return now.nowMs + turnMs > lastMs || !fits(shortestMs, lastMs, now.nowMs);
}

/** The progress of an event's retries: the part of the envelope that decisions need. */
export interface RetryState {
  /** Attempts made, including one that has just failed. */
  readonly attempts: number;
  /** Undefined until the retry clock runs. */
  readonly deadlineMs?: number | undefined;
}

export interface Later {
  readonly kind: 'later';
  readonly tierMs: number;
  readonly dueMs: number;
  readonly deadlineMs: number | undefined;
}

/** No more attempts. The verdict adds what the dead letter tells. */
export interface NoMoreRetries {
  readonly kind: 'give-up';
  readonly reason: 'expired' | 'too-old';
}

/** No tier is short enough for the time left, so an attempt must be made now or never. */
export interface NoTimeLeft {
  readonly kind: 'no-time-left';
}

const second = 1_000;
const minute = 60 * second;

/** After a failed, retryable attempt. The retry clock starts here if it does not run yet. */
export function planRetry(
  state: RetryState,
  retryAfterMs: number,
  now: Circumstances,
): Later | NoMoreRetries {
  const { nowMs, policy } = now;
  const wantedMs = Math.max(delayAfterAttempt(state.attempts, policy.tiersMs), retryAfterMs);
  const deadlineMs = state.deadlineMs ?? nowMs + policy.windowMs;
  return schedule(wantedMs, deadlineMs, now) ?? { kind: 'give-up', reason: 'expired' };
}

/** The tiers are the schedule: 10s, 1m, 5m, 15m, 30m, 1h by default, and the longest one repeats. */
function delayAfterAttempt(attempt: number, tiersMs: readonly number[]): number {
  return tiersMs[Math.min(attempt, tiersMs.length) - 1] ?? 0;
}

/** Why a record is put off without an attempt. */
export type DeferralCause = (typeof deferralCauses)[number];

export const deferralCauses = [
  'breaker',
  'retry-after',
  'rate-limit',
  'slow',
  'lane',
  'retention',
  'unreadable',
  'local',
  'cut-off',
  'token',
  'newer-format',
  'order',
] as const;

/**
 * Puts a record off without an attempt. An open breaker and a `Retry-After` are the endpoint's wish, so they
 * start the clock; the other causes leave it as it is. While no token can be had, a clock that runs stands still: the
 * end of the window moves by the time for which the event stays away.
 */
export function planDeferral(
  state: RetryState,
  cause: DeferralCause,
  wantedMs: number,
  ageFromMs: number,
  now: Circumstances,
): Later | NoMoreRetries | NoTimeLeft {
  const { nowMs, policy } = now;
  if (nowMs - ageFromMs > policy.maxAgeMs) return { kind: 'give-up', reason: 'too-old' };
  const startsClock = cause === 'breaker' || cause === 'retry-after';
  const deadlineMs = state.deadlineMs ?? (startsClock ? nowMs + policy.windowMs : undefined);
  if (cause === 'token') {
    const plan = schedule(wantedMs, undefined, now);
    if (plan === undefined || deadlineMs === undefined) return plan ?? { kind: 'no-time-left' };
    return { ...plan, deadlineMs: deadlineMs + plan.dueMs - nowMs };
  }
  return (
    schedule(wantedMs, deadlineMs, now) ??
    (cause === 'breaker' ? { kind: 'give-up', reason: 'expired' } : { kind: 'no-time-left' })
  );
}

/** Undefined when even the shortest tier would end past the deadline. */
function schedule(
  wantedMs: number,
  deadlineMs: number | undefined,
  now: Circumstances,
): Later | undefined {
  const { nowMs, policy, random } = now;
  const { tiersMs } = policy;
  const tierMs = tiersMs.find((delayMs) => delayMs >= wantedMs) ?? tiersMs.at(-1) ?? 0;
  const lastMs = deadlineMs === undefined ? Infinity : endMs(deadlineMs, now);
  if (fits(tierMs, lastMs, nowMs)) return later(tierMs, deadlineMs, nowMs, random);
  const longest = tiersMs.findLast((delayMs) => fits(delayMs, lastMs, nowMs));
  return longest === undefined ? undefined : later(longest, deadlineMs, nowMs, random);
}

function fits(tierMs: number, lastMs: number, nowMs: number): boolean {
  return nowMs + longestDelayMs(tierMs) <= lastMs;
}

function later(
  tierMs: number,
  deadlineMs: number | undefined,
  nowMs: number,
  random: () => number,
): Later {
  return { kind: 'later', tierMs, dueMs: dueAfter(tierMs, nowMs, random), deadlineMs };
}

/**
 * The deferral behind an open breaker: the longer the endpoint has been away, the longer its events may stay
 * away. The factor is below 1, because the next tier may be several times as long. It is smaller for a record
 * that has come back, because records that return just before the recovery is seen would otherwise be the
 * last to be tried.
 *
 * The factors balance two goals: few writes per record, and most of the backlog attempted soon after the
 * recovery. `npm run bench outages` measures both. Outages between two tiers do worse: a record that was
 * written before the recovery comes back only after its tier's whole delay.
 */
export function wantedBreakerDelayMs(openForMs: number, hasReturned: boolean): number {
  const wantedMs = hasReturned ? 0.16 * (openForMs - 15 * second) : 0.45 * openForMs;
  return Math.min(Math.max(wantedMs, 10 * second), 15 * minute);
}
