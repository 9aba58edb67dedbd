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

/** @param isSilent nobody is told */
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
    ? `${users} users keep ${trait} at ${where}, and it is forgotten`
    : `${users} users were told that they have ${trait} no more, at ${where}`;
}

/** Where its links lead. @throws PostriderError `setting-invalid` */
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
