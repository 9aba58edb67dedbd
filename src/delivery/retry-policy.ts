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

/** How far an event's retries have come; the envelope's part that decisions need. */
export interface RetryState {
  /** Attempts made, including one that has just failed. */
  readonly attempts: number;
  /** Undefined until the retry clock runs. */
  readonly deadlineMs?: number | undefined;
  readonly last?: true | undefined;
}

export interface Later {
  readonly kind: 'later';
  readonly tierMs: number;
  readonly dueMs: number;
  readonly deadlineMs: number | undefined;
  readonly last: boolean;
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
/** An attempt is the last only so close to the deadline: an endpoint may come back in the last minutes too. */
const lastStretchMs = 60 * second;

/** After a failed, retryable attempt. The clock starts here unless it runs. */
export function planRetry(
  state: RetryState,
  retryAfterMs: number,
  nowMs: number,
  policy: RetryPolicy,
  random: () => number,
): Later | GiveUp {
  if (state.last === true) return { kind: 'give-up', reason: 'expired' };
  const wantedMs = Math.max(delayAfterAttempt(state.attempts, policy.tiersMs), retryAfterMs);
  const deadlineMs = state.deadlineMs ?? nowMs + policy.windowMs;
  return (
    schedule(wantedMs, deadlineMs, nowMs, policy, random) ?? { kind: 'give-up', reason: 'expired' }
  );
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
] as const;

/**
 * Puts a record off without an attempt. An open breaker is the endpoint's failure, so it starts the clock;
 * the other causes leave it as it is.
 */
export function planDeferral(
  state: RetryState,
  cause: DeferralCause,
  wantedMs: number,
  eventAppendMs: number,
  nowMs: number,
  policy: RetryPolicy,
  random: () => number,
): Later | GiveUp | NoTimeLeft {
  if (nowMs - eventAppendMs > policy.maxAgeMs) return { kind: 'give-up', reason: 'too-old' };
  const deadlineMs =
    state.deadlineMs ?? (cause === 'breaker' ? nowMs + policy.windowMs : undefined);
  const plan = schedule(wantedMs, deadlineMs, nowMs, policy, random);
  if (plan === undefined)
    return cause === 'breaker' ? { kind: 'give-up', reason: 'expired' } : { kind: 'no-time-left' };
  return state.last === true ? { ...plan, last: true } : plan;
}

/** Undefined when even the shortest tier would end past the deadline. */
function schedule(
  wantedMs: number,
  deadlineMs: number | undefined,
  nowMs: number,
  policy: RetryPolicy,
  random: () => number,
): Later | undefined {
  const { tiersMs } = policy;
  const tierMs = tiersMs.find((delayMs) => delayMs >= wantedMs) ?? tiersMs.at(-1) ?? 0;
  if (deadlineMs === undefined || fits(tierMs, deadlineMs, nowMs))
    return later(tierMs, deadlineMs, nowMs, random);
  const longest = tiersMs.findLast((delayMs) => fits(delayMs, deadlineMs, nowMs));
  if (longest === undefined) return undefined;
  const plan = later(longest, deadlineMs, nowMs, random);
  // By its own due time: a tenth of a long tier, which jitter may take off, is minutes.
  return plan.dueMs < deadlineMs - lastStretchMs ? plan : { ...plan, last: true };
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
  return { kind: 'later', tierMs, dueMs: dueAfter(tierMs, nowMs, random), deadlineMs, last: false };
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
