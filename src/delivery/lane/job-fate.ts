import { ageFromMs } from '../../event/envelope.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Bundle } from '../bundle/bundle.ts';
import type { Deferral } from './deferral.ts';
import type { Disposal } from '../disposal.ts';
import type { DeliveryEvents } from '../events.ts';
import type { Job } from '../job.ts';
import type { Outcome } from '../outcome.ts';
import { planDeferral, planRetry } from '../retry-policy.ts';
import type { RetryPolicy } from '../retry-policy.ts';

export interface FateContext {
  readonly clock: Clock;
  readonly random: () => number;
  readonly disposal: Disposal;
  readonly events: DeliveryEvents;
  readonly policy: RetryPolicy;
}

/** After an attempt: the record is finished, goes to a retry topic, or is given up. */
export function settle(job: Job, outcome: Outcome, context: FateContext): void {
  const { clock, random, disposal, events, policy } = context;
  const attempts = job.envelope.attempts + 1;
  if (outcome.kind === 'delivered') {
    events.delivered(job);
    job.record.finish();
  } else if (outcome.kind === 'permanent') {
    disposal.deadLetter(job, outcome.reason, outcome.detail, attempts);
  } else {
    const { deadlineMs, envelope } = job;
    const state = { attempts, deadlineMs, last: envelope.last };
    const plan = planRetry(state, outcome.retryAfterMs ?? 0, clock.now(), policy, random);
    if (plan.kind === 'later') disposal.retry(job, plan);
    else disposal.deadLetter(job, plan.reason, outcome.detail, attempts);
  }
}

/** Without an attempt, into a retry topic. False where only the time for an attempt now is left. */
export function putOff(job: Job, { cause, wantedMs }: Deferral, context: FateContext): boolean {
  const { clock, random, disposal, policy } = context;
  const { attempts, last } = job.envelope;
  const state = { attempts, deadlineMs: job.deadlineMs, last };
  const ageFrom = ageFromMs(job.envelope);
  const plan = planDeferral(state, cause, wantedMs, ageFrom, clock.now(), policy, random);
  if (plan.kind === 'later') disposal.defer(job, plan, cause);
  else if (plan.kind === 'give-up') disposal.deadLetter(job, plan.reason, cause, attempts);
  else job.urgent = true;
  return plan.kind !== 'no-time-left';
}

/** All of it, without an attempt. False where that is not right for each of its events. */
export function putOffBundle(
  bundle: Bundle,
  { cause, wantedMs }: Deferral,
  context: FateContext,
): boolean {
  const { clock, random, disposal, policy } = context;
  const { deadlineMs, oldestMs } = bundle.header;
  const state = { attempts: 0, deadlineMs };
  const plan = planDeferral(state, cause, wantedMs, oldestMs, clock.now(), policy, random);
  if (plan.kind !== 'later' || plan.last) return false;
  disposal.deferBundle(bundle, plan, cause);
  return true;
}
