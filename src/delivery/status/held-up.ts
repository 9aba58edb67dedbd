import { objectiveMs } from '../../event/limits.ts';

/** A time during which a destination held its own events up. Epoch milliseconds. */
interface Spell {
  readonly sinceMs: number;
  untilMs: number;
}

/** A lane that has been at ease for less than this is in the same spell as before. */
const sameSpellMs = 10_000;
/** Whatever a spell left behind and nothing has been delivered of for so long has gone another way. */
const forgottenAfterMs = 10 * 60_000;

/**
 * When destinations held their own events up: they failed, asked to be left alone, were slow, or took less than
 * they got. An event that was late because of that is not late because of Postrider.
 */
export class HeldUp {
  readonly #spells = new Map<string, Spell>();

  /** The destination holds its events up now, and has done so since `sinceMs`. */
  seen(destinationId: string, sinceMs: number, nowMs: number): void {
    const spell = this.#spells.get(destinationId);
    if (spell !== undefined && nowMs - spell.untilMs < sameSpellMs) spell.untilMs = nowMs;
    else this.#spells.set(destinationId, { sinceMs, untilMs: nowMs });
  }

  /** Whether an event of that age would be within the objective without the time that its destination took. */
  explains(destinationId: string, appendTimeMs: number, nowMs: number): boolean {
    const spell = this.#spells.get(destinationId);
    if (spell === undefined) return false;
    const theirsMs = Math.max(0, spell.untilMs - Math.max(spell.sinceMs, appendTimeMs));
    return nowMs - appendTimeMs - theirsMs <= objectiveMs;
  }

  /**
   * As `explains`, for an event that is delivered now. Until the backlog of a spell is delivered, the spell goes
   * on: without that, the end of a backlog that takes minutes would count as late.
   */
  explainsDelivery(destinationId: string, appendTimeMs: number, nowMs: number): boolean {
    const isExplained = this.explains(destinationId, appendTimeMs, nowMs);
    const spell = this.#spells.get(destinationId);
    if (isExplained && spell !== undefined) spell.untilMs = nowMs;
    return isExplained;
  }

  /** Now and then: forgets what explains nothing any more. */
  tick(nowMs: number): void {
    for (const [id, { untilMs }] of this.#spells)
      if (nowMs - untilMs > forgottenAfterMs) this.#spells.delete(id);
  }
}
