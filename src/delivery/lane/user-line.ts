import type { Destination } from '../../resources/resource.ts';
import { orderForMsOf } from '../../resources/schema/order.ts';
import type { Claim, Job, PlaceInLine } from '../job.ts';
import type { Stand } from '../verdict.ts';
import type { LaneContext } from './lane-context.ts';
import type { WaitingJobs } from './waiting-jobs.ts';

/**
 * The job's place in the line of its user; undefined if it has none. In topics of all destinations, others would wait
 * behind it. An event whose retry clock ran when it was written has left its line before.
 */
export function placeInLine(job: Job, orderForMs: number | undefined): PlaceInLine | undefined {
  const { line, claim, user, envelope } = job;
  if (orderForMs === undefined || !claim.dedicated) return undefined;
  if (line !== undefined) {
    line.orderForMs = orderForMs;
    return line;
  }
  if (user === undefined || envelope.deadlineMs !== undefined) return undefined;
  return {
    orderForMs,
    failedSinceMs: undefined,
    standsUntilMs: undefined,
    isHeldUp: false,
    isAside: false,
  };
}

/**
 * The time for which a job whose attempt has ended may keep its place; undefined: it has none. Its destination may have
 * changed since it came.
 */
export function placeLeftOf(
  job: Job,
  orderForMs: number | undefined,
  steadyNowMs: number,
): number | undefined {
  if (job.line === undefined) return undefined;
  job.line = placeInLine(job, orderForMs);
  if (job.line === undefined) return undefined;
  return job.line.orderForMs - (steadyNowMs - (job.line.failedSinceMs ?? steadyNowMs));
}

/** The destination has another version, perhaps with another order, or with none. */
export function replaceInLine(
  waiting: WaitingJobs,
  formerMs: number | undefined,
  orderForMs: number | undefined,
): void {
  if (orderForMs === formerMs) return;
  for (const job of waiting.takeAll()) {
    job.line = placeInLine(job, orderForMs);
    waiting.add(job);
  }
}

/** The job's destination is paused. With strict order, it waits in its topic. */
export function waitInLine(job: Job, destination: Destination | undefined): void {
  if (destination === undefined) return;
  job.line = placeInLine(job, orderForMsOf(destination));
  if (job.line !== undefined) job.line.isHeldUp = true;
}

/** The job waits in its place for its next attempt. Without an outcome, the one that has ended does not count. */
export function stand(job: Job, { plan, outcome }: Stand, { events, clock }: LaneContext): void {
  const { line, envelope } = job;
  if (line === undefined) return;
  const nowMs = clock.steadyNow();
  line.standsUntilMs = nowMs + plan.dueMs - clock.now();
  job.deadlineMs = plan.deadlineMs;
  job.hasReturned = true;
  if (outcome === undefined) {
    events.deferred(job, 'local', plan);
    return;
  }
  line.failedSinceMs ??= nowMs;
  events.retryPlanned(job, plan, 'stays');
  const lastAnswer = job.lastAnswer(outcome, clock.now());
  job.envelope = { ...envelope, attempts: envelope.attempts + 1, lastAnswer };
}

/** Must be called about once a second, which is short beside the delays of retries. */
export function lookAtLines(waiting: WaitingJobs, { clock, fencing, events }: LaneContext): void {
  const nowMs = clock.steadyNow();
  // The deletion of its user comes behind an event that is not sent any more.
  waiting.resume(
    (job) => (job.line?.standsUntilMs ?? 0) <= nowMs || fencing.covers(job) !== undefined,
  );
  setAside(waiting.standing(), (job) => {
    events.deferred(job, 'order');
  });
}

/**
 * Sets the records of lines aside that stand still, so that events of other users are read. As many are as their
 * partitions have room for; then the partition waits, behind which there are only events of the same destination.
 * @param standing jobs that wait for their next attempt, each followed by those that wait behind it
 * @param onHeldUp gets each job that waits behind another one for the first time
 */
function setAside(standing: Iterable<Job>, onHeldUp: (job: Job) => void): void {
  const rooms = new Map<Claim, number>();
  for (const job of standing) {
    const { line, claim } = job;
    if (line === undefined) continue;
    if (line.standsUntilMs === undefined && !line.isHeldUp) {
      line.isHeldUp = true;
      onHeldUp(job);
    }
    if (line.isAside) continue;
    const room = rooms.get(claim) ?? claim.asideRoom();
    rooms.set(claim, room - 1);
    if (room <= 0) continue;
    line.isAside = true;
    job.setAside();
  }
}
