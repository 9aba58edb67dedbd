import { realpath } from 'node:fs/promises';
import { fullBatchChanges } from '../../audience/change-batch.ts';
import type { SyncDeps } from '../../audience/open-audience.ts';
import type { Retired, RetireOptions } from '../../audience/retire.ts';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Context } from '../context.ts';

/** What `audience-sync --retire` and `delete --retire` have in common. */

export async function retireDeps(context: Context): Promise<SyncDeps> {
  const { kafka, log } = context;
  const topology = await context.topology();
  return { kafka, topology, clock: systemClock, log, onProgress: () => undefined };
}

/** @param isSilent nothing is sent, and users keep the traits */
export async function retireOptions(
  { settings }: Context,
  isSilent: boolean,
): Promise<RetireOptions> {
  return {
    isSilent,
    directory: settings.audienceCheckpointDir,
    filesDir: await realFilesDir(settings.audienceFilesDir),
    changesPerTransaction: fullBatchChanges,
  };
}

export function describeRetired(
  { trait, source, destinations, users }: Retired,
  isSilent: boolean,
): string {
  const where = destinations === undefined ? `source ${source}` : destinations.join(', ');
  return isSilent
    ? `${users} users keep ${trait} at ${where}; syncs no longer track it`
    : `${trait} was taken back from ${users} users, at ${where}`;
}

/**
 * The path after links are followed.
 * @throws PostriderError `setting-invalid`
 */
export async function realFilesDir(name: string): Promise<string> {
  try {
    return await realpath(name);
  } catch {
    throw new PostriderError(
      'setting-invalid',
      `AUDIENCE_FILES_DIR is ${name}, which cannot be read`,
    );
  }
}
