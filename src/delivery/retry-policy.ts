import type { Clock } from '../ops/clock.ts';
import { dueAfter, longestDelayMs } from '../event/tier-delay.ts';

/** When to try again, and when to give up. Pure: time and chance are arguments. */
export interface RetryPolicy {
  /** Ascending, at least one. */
  readonly tiersMs: readonly number[];
  /** From an event's first failure to the end of its retries. */
  readonly windowMs: number;
  /** An event older than this is not put off again. */
  readonly maxAgeMs: number;
  /** A record of a paused topic that is older is written elsewhere, before Kafka removes it. */
  readonly spillAfterMs: number;
}

/** Time, chance and settings. */
export interface Circumstances {
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly policy: RetryPolicy;
}

/** As they are now. */
export function circumstances({
  clock,
  random,
  policy,
}: Omit<Circumstances, 'nowMs'> & { readonly clock: Clock }): Circumstances {
  return { nowMs: clock.now(), random, policy };
}

/** How far an event's retries have come; the envelope's part that decisions need. */
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

export interface GiveUp {
  readonly kind: 'give-up';
  readonly reason: 'expired' | 'too-old';
}

/** Nothing shorter than the time left: whatever can be done must be done now. */
export interface NoTimeLeft {
  readonly kind: 'no-time-left';
}

const second = 1_000;
const minute = 60 * second;

/** After a failed, retryable attempt. The clock starts here unless it runs. */
export function planRetry(
  state: RetryState,
  retryAfterMs: number,
  now: Circumstances,
): Later | GiveUp {
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
] as const;

/**
 * Puts a record off without an attempt. An open breaker and a `Retry-After` are the endpoint's wish, so they
 * start the clock; the other causes leave it as it is.
 */
export function planDeferral(
  state: RetryState,
  cause: DeferralCause,
  wantedMs: number,
  ageFromMs: number,
  now: Circumstances,
): Later | GiveUp | NoTimeLeft {
  const { nowMs, policy } = now;
  if (nowMs - ageFromMs > policy.maxAgeMs) return { kind: 'give-up', reason: 'too-old' };
  const startsClock = cause === 'breaker' || cause === 'retry-after';
  const deadlineMs = state.deadlineMs ?? (startsClock ? nowMs + policy.windowMs : undefined);
  return (
    schedule(wantedMs, deadlineMs, now) ??
    (cause === 'breaker' ? { kind: 'give-up', reason: 'expired' } : { kind: 'no-time-left' })
  );
}

/** Undefined when even the shortest tier would end past the deadline. */
function schedule(
  wantedMs: number,
  deadlineMs: number | undefined,
  { nowMs, policy, random }: Circumstances,
): Later | undefined {
  const { tiersMs } = policy;
  const tierMs = tiersMs.find((delayMs) => delayMs >= wantedMs) ?? tiersMs.at(-1) ?? 0;
  if (deadlineMs === undefined || fits(tierMs, deadlineMs, nowMs))
    return later(tierMs, deadlineMs, nowMs, random);
  const longest = tiersMs.findLast((delayMs) => fits(delayMs, deadlineMs, nowMs));
  return longest === undefined ? undefined : later(longest, deadlineMs, nowMs, random);
}

function fits(tierMs: number, deadlineMs: number, nowMs: number): boolean {
  return nowMs + longestDelayMs(tierMs) <= deadlineMs;
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
 * For a breaker's deferral: the longer the endpoint has been away, the longer it may stay away. A part of
 * it, because the tier above may be several times as long; and a smaller one for a record that has come
 * back, because those that do so just before the recovery is seen would otherwise be the last to be tried.
 * Of the backlog of simulated outages, attempted within max(1 min, half the outage): at least 0.95 after 1,
 * 10, 30 and 120 minutes, but 0.51 after 5, and 0.75 after 15 and 20. Between the tiers are gaps: what was
 * written before the recovery comes back only after the tier's whole delay, and shorter delays would cost
 * more than the budget of 3 writes a record in ten minutes.
 */
export function wantedBreakerDelayMs(openForMs: number, hasReturned: boolean): number {
  const wantedMs = hasReturned ? 0.16 * (openForMs - 15 * second) : 0.45 * openForMs;
  return Math.min(Math.max(wantedMs, 10 * second), 15 * minute);
}
