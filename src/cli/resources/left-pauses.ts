import { PostriderError } from '../../errors.ts';
import { identityRecords, type IdentityRecords } from '../../resources/apply/identities.ts';
import type { Change } from '../../resources/apply/plan.ts';
import { recordKey } from '../../resources/config/stored.ts';
import type { StoredResources } from '../../resources/config/stored-resources.ts';
import { destinationIdOf } from '../../resources/notice-hook.ts';
import { Pauses, readStoredPauses } from '../../resources/pauses/pauses.ts';
import type { Context } from '../context.ts';

/** Commands that make or delete destinations read and write here what `pauses` has under their ids. */

/**
 * Says on stderr for which destinations, which are to be deleted, events may be kept. Counting them would mean to
 * read all that is kept for other destinations.
 */
export async function noteKept(
  context: Context,
  stored: StoredResources,
  destinations: readonly string[],
): Promise<void> {
  if (destinations.length === 0) return;
  const pauses = await knownPauses(context);
  if (!(pauses instanceof Pauses)) return;
  for (const id of destinations) {
    const uid = stored.get(recordKey({ kind: 'Destination', id }))?.uid;
    if (pauses.has({ id, uid }) || pauses.resumedSince({ id, uid }) !== undefined)
      context.note(
        `Destination ${id}: events that are kept for it are not sent any more; \`postrider resume ${id}\` sends them before it is deleted`,
      );
  }
}

/** These records of `pauses` are written with the changes. */
export async function recordsFor(
  context: Context,
  changes: readonly Change[],
): Promise<IdentityRecords> {
  const none: IdentityRecords = { before: [], after: [] };
  const isConcerned = (change: Change): boolean =>
    destinationIdOf(change) !== undefined && ['create', 'delete'].includes(change.action);
  if (!changes.some(isConcerned)) return none;
  const pauses = await knownPauses(context);
  if (pauses instanceof Pauses)
    return identityRecords(changes, pauses.ended, (await context.topology()).topics.pauses);
  if (pauses !== undefined)
    context.note(
      `if the config topic is ever lost, what is kept for these destinations may be lost too (${pauses})`,
    );
  return none;
}

/**
 * Undefined: nothing could be paused yet. Or why this principal must not know: its rights may be those of a former
 * release.
 */
async function knownPauses(context: Context): Promise<Pauses | string | undefined> {
  try {
    return await readStoredPauses(context.kafka, await context.topology());
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    if (error.code === 'not-found') return undefined;
    if (error.code === 'kafka-refused') return error.message;
    throw error;
  }
}
