import { objectiveMs } from '../../event/limits.ts';
import type { Job } from '../job.ts';

/** A time during which a destination held its own events up. Epoch milliseconds. */
interface Spell {
  readonly sinceMs: number;
  untilMs: number;
}

/** A lane that has been at ease for less than this is in the same spell as before. */
const sameSpellMs = 10_000;
/** Events that a spell left behind, and of which none was delivered for so long, have gone another way. */
const forgottenAfterMs = 10 * 60_000;

/**
 * The times when destinations held their own events up: they failed, asked to be left alone, were slow, or took less than
 * they got. An event that was late because of that is not late because of Postrider.
 */
export class Spells {
  readonly #spells = new Map<string, Spell>();

  /** The destination holds its events up now, and has done so since `sinceMs`. */
  seen(destinationId: string, sinceMs: number, nowMs: number): void {
    const spell = this.#spells.get(destinationId);
    if (spell !== undefined && nowMs - spell.untilMs < sameSpellMs) spell.untilMs = nowMs;
    else this.#spells.set(destinationId, { sinceMs, untilMs: nowMs });
  }

  /** An event of that age would be within the objective without the time that its destination took. */
  explains(destinationId: string, appendTimeMs: number, nowMs: number): boolean {
    const spell = this.#spells.get(destinationId);
    if (spell === undefined) return false;
    const theirsMs = Math.max(0, spell.untilMs - Math.max(spell.sinceMs, appendTimeMs));
    return nowMs - appendTimeMs - theirsMs <= objectiveMs;
  }

  /**
   * Does the same as `explains` for an event that is delivered now. Until the backlog of a spell is delivered, the spell goes
   * on: without that, the end of a backlog that takes minutes would count as late.
   */
  explainsDelivery(destinationId: string, appendTimeMs: number, nowMs: number): boolean {
    const isExplained = this.explains(destinationId, appendTimeMs, nowMs);
    const spell = this.#spells.get(destinationId);
    if (isExplained && spell !== undefined) spell.untilMs = nowMs;
    return isExplained;
  }

  /** Forgets the spells that explain nothing any more. Must be called now and then. */
  tick(nowMs: number): void {
    for (const [id, { untilMs }] of this.#spells)
      if (nowMs - untilMs > forgottenAfterMs) this.#spells.delete(id);
  }
}

/** Fresh events of one topic that wait in this worker for longer than the objective allows. */
export interface Overdue {
  /** Events that wait for this worker. */
  ours: number;
  /** Events that wait for their own destination or an earlier event of their user, or that nobody waits for: an audience sync's, or sent again. */
  others: number;
}

/**
 * Counts overdue events by topic. Events that have been through a retry topic are left out.
 */
export function overdueAmong(
  waiting: Iterable<Job>,
  spells: Pick<Spells, 'explains'>,
  nowMs: number,
): Map<string, Overdue> {
  const byTopic = new Map<string, Overdue>();
  for (const { claim, envelope, hasReturned, line } of waiting) {
    const { appendTimeMs, destinationId, redrivenMs, isSync } = envelope;
    if (hasReturned || nowMs - appendTimeMs <= objectiveMs) continue;
    const overdue = byTopic.get(claim.topic) ?? { ours: 0, others: 0 };
    byTopic.set(claim.topic, overdue);
    const isOthers =
      isSync === true ||
      redrivenMs !== undefined ||
      line?.isHeldUp === true ||
      spells.explains(destinationId, appendTimeMs, nowMs);
    if (isOthers) overdue.others += 1;
    else overdue.ours += 1;
  }
  return byTopic;
}

/**
 * The overdue events of a topic, with those that Kafka still has. Nobody knows whose these are, so they are divided in
 * the same proportion as those that were read.
 * @param unread so many of the topic are not read and overdue
 */
export function overdueInAll(waiting: Overdue | undefined, unread: number): number {
  const { ours, others } = waiting ?? { ours: 0, others: 0 };
  return Math.round(ours + (ours + others > 0 ? (unread * ours) / (ours + others) : unread));
}
