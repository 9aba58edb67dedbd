import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import {
  isLeftByFormer,
  mayLeavePauses,
  pauseEndsOf,
  type PauseEnds,
} from '../../resources/apply/pause-ends.ts';
import type { Change } from '../../resources/apply/plan.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import type { StoredResource } from '../../resources/config/stored-resources.ts';
import { Pauses, readStoredPauses } from '../../resources/pauses/pauses.ts';
import type { Context } from '../context.ts';

/** What is paused under the ids of destinations that are made or deleted. */

/**
 * Says on stderr for which destinations, which are to be deleted, events may be kept. Counting them would mean to
 * read all that is kept for other destinations.
 */
export async function noteKept(context: Context, destinations: readonly string[]): Promise<void> {
  if (destinations.length === 0) return;
  const pauses = await knownPauses(context);
  if (!(pauses instanceof Pauses)) return;
  for (const id of destinations)
    if (pauses.has(id) || pauses.resumedSince(id) !== undefined)
      context.note(
        `Destination ${id}: events that are kept for it are not sent any more; \`postrider resume ${id}\` sends them before it is deleted`,
      );
}

/** What is to be written with the changes, so that no pause is left under their ids. */
export async function pauseEnds(context: Context, changes: readonly Change[]): Promise<PauseEnds> {
  const none: PauseEnds = { before: [], after: [] };
  if (!mayLeavePauses(changes)) return none;
  const pauses = await knownPauses(context);
  if (pauses instanceof Pauses) {
    const { kafka, log } = context;
    const topology = await context.topology();
    // Nearly always nothing is left, and reading everything takes seconds where there are many destinations.
    const stored = isLeftByFormer(changes, pauses)
      ? await readStoredResources({ kafka, topology, log })
      : new Map<string, StoredResource>();
    return pauseEndsOf(changes, pauses, { topology, nowMs: systemClock.now(), stored });
  }
  if (pauses !== undefined)
    context.note(`pauses that may be left under these ids stay in force (${pauses})`);
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
