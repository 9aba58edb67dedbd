import { realpath } from 'node:fs/promises';
import { fullBatchChanges } from '../../audience/emit.ts';
import type { FoundAudiences } from '../../audience/find-audiences.ts';
import type { SyncDeps } from '../../audience/open-audience.ts';
import { retireFormer, type Retired, type RetireOptions } from '../../audience/retire.ts';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Audience, ComputedTrait } from '../../resources/resource.ts';
import type { Context } from '../context.ts';
import { aloneWith } from './one-at-a-time.ts';

/** Reads the audiences of these ids as they are now; all of them without ids. */
export type FindNow = (ids: readonly string[]) => Promise<FoundAudiences>;

/**
 * Takes former traits back, one audience after the other, each by what it is when its turn comes: its former
 * trait may have become its trait again.
 */
export async function retireAll(
  context: Context,
  audiences: readonly (Audience | ComputedTrait)[],
  findNow: FindNow,
  options: { readonly keepTraits?: true; readonly checkpointDir?: string },
): Promise<void> {
  const isSilent = options.keepTraits === true;
  for (const audience of audiences) {
    const deps = await retireDeps(context);
    const retire = {
      ...(await retireOptions(context, isSilent)),
      directory: options.checkpointDir ?? context.settings.audienceCheckpointDir,
    };
    const retired = await aloneWith(context, audience.id, async () => {
      const now = await findNow([audience.id]);
      const [target = audience] = now.audiences;
      return retireFormer(deps, target, (source) => now.destinationsOf(source), retire);
    });
    const name = `${audience.kind} ${audience.id}`;
    if (retired.length === 0) context.print(`${name}: no user has a former trait`);
    for (const each of retired) context.print(`${name}: ${describeRetired(each, isSilent)}`);
  }
}

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
