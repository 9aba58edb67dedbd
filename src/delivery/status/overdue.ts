import { objectiveMs } from '../../event/limits.ts';
import type { Job } from '../job.ts';
import type { HeldUp } from './held-up.ts';

/** Fresh events of one topic that wait in this worker for longer than the objective allows. */
export interface Overdue {
  /** They wait for this worker. */
  ours: number;
  /** They wait for their own destination, or nobody waits for them: an audience sync's, or sent again. */
  others: number;
}

/** By topic. Events that have been through a retry topic are left out. */
export function overdueAmong(
  waiting: Iterable<Job>,
  heldUp: Pick<HeldUp, 'explains'>,
  nowMs: number,
): Map<string, Overdue> {
  const byTopic = new Map<string, Overdue>();
  for (const { claim, envelope, hasReturned } of waiting) {
    const { appendTimeMs, destinationId, redrivenMs, isSync } = envelope;
    if (hasReturned || nowMs - appendTimeMs <= objectiveMs) continue;
    const overdue = byTopic.get(claim.topic) ?? { ours: 0, others: 0 };
    byTopic.set(claim.topic, overdue);
    const isOthers =
      isSync === true ||
      redrivenMs !== undefined ||
      heldUp.explains(destinationId, appendTimeMs, nowMs);
    if (isOthers) overdue.others += 1;
    else overdue.ours += 1;
  }
  return byTopic;
}

/**
 * With what Kafka still holds: nobody knows whose that is, so it is divided as what has been read is.
 * @param unread so many of the topic are not read and overdue
 */
export function overdueInAll(waiting: Overdue | undefined, unread: number): number {
  const { ours, others } = waiting ?? { ours: 0, others: 0 };
  return Math.round(ours + (ours + others > 0 ? (unread * ours) / (ours + others) : unread));
}
