import path from 'node:path';
import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { planFiles, writeChanges, type Plan } from '../../resources/apply/apply.ts';
import { findRefusedUrls, type ResourceBounds } from '../../resources/apply/desired.ts';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { loadFiles } from '../../resources/apply/load-files.ts';
import { checkFiles, type Change, type Others } from '../../resources/apply/plan.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import { formatProblem, InvalidResources } from '../../resources/problem.ts';
import { settingNames } from '../../settings/misspelt.ts';
import type { Settings } from '../../settings/table.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import { recordsFor } from './left-pauses.ts';
import { withOutput, type OutputOptions } from '../terminal/output.ts';

/** Options of the commands that take resource files. */
export interface FileOptions extends Wishes, OutputOptions {
  readonly file: readonly string[];
}

interface Wishes {
  readonly prune?: true;
  readonly rename?: true;
  readonly newKey?: true;
  readonly endOverlap?: true;
}

export function withFiles(command: Command): Command {
  return withOutput(command)
    .requiredOption(
      '-f, --file <files...>',
      'YAML or JSON files, folders with such files, or - for stdin',
    )
    .option('--prune', 'also delete all resources that are not in the files')
    .option(
      '--rename',
      'accept changed names of audiences and computed traits, which change their traits',
    )
    .option('--new-key', 'replace stored secrets whose SECRET_KEY is lost')
    .option('--end-overlap', 'former secrets of the applied destinations sign nothing from now on');
}

/** The files as they are written; what is wrong with them is told by what is done with them. */
export async function load(
  { environment, terminal }: Context,
  { file }: Pick<FileOptions, 'file'>,
): Promise<ParsedFile> {
  return loadFiles(file, { environment, settings: settingNames, stdin: terminal.stdin });
}

/** The knowledge of other resources before they are read from Kafka. */
export function othersOf({ prune }: Wishes): Others {
  return prune === true ? 'pruned' : 'unknown';
}

/**
 * Reports the problems of the files before anything is read from Kafka.
 * @param refused what a file with a problem keeps from happening
 */
export function checkFirst(
  context: Context,
  files: ParsedFile,
  others: Others,
  refused: string = 'nothing was applied',
): void {
  try {
    checkFiles(files, others, boundsOf(context.settings));
  } catch (error) {
    listProblems(context, error, refused);
  }
}

/**
 * The changes that applying the files would make. Problems are listed on stderr, those of the files alone at
 * once.
 */
export async function planFrom(context: Context, files: ParsedFile, wishes: Wishes): Promise<Plan> {
  checkFirst(context, files, othersOf(wishes));
  const { settings, kafka, log } = context;
  await warnOfRefusedUrls(context, files);
  const access = { kafka, topology: await context.topology(), clock: systemClock, log };
  const secretKeys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const { prune = false, rename = false, newKey = false, endOverlap = false } = wishes;
  const options = {
    secretKeys,
    prune,
    rename,
    newKey,
    endOverlap,
    ...boundsOf(settings),
  };
  return planFiles(access, files, options).catch((error: unknown) =>
    listProblems(context, error, 'nothing was applied'),
  );
}

/** For `dev`: validates, then writes; resolves when all is written. */
export async function applyFiles(context: Context, files: ParsedFile): Promise<readonly Change[]> {
  const { changes } = await planFrom(context, files, {});
  await write(context, changes);
  return changes;
}

/** Also for `delete`: writes with a producer of its own. */
export async function write(context: Context, changes: readonly Change[]): Promise<void> {
  if (changes.every(({ value }) => value === undefined)) return;
  const { kafka } = context;
  const topology = await context.topology();
  const { before, after } = await recordsFor(context, changes);
  await withProducer(context, async (producer) => {
    await producer.send(before);
    await writeChanges({ kafka, topology, producer }, changes);
    await producer.send(after);
  });
}

/** Warns of URLs that delivery will refuse unless its workers are configured otherwise. */
export async function warnOfRefusedUrls(context: Context, files: ParsedFile): Promise<void> {
  const { AddressGuard } = await import('../../delivery/http/address-guard.ts');
  const guard = new AddressGuard(context.settings.deliveryAllowNetworks ?? []);
  const allowed = {
    allows: (address: string) => guard.allows(address),
    names: (address: string) => guard.ofNamedNetworks.allows(address),
  };
  for (const problem of findRefusedUrls(files, allowed))
    context.note(`warning: ${formatProblem(problem)}`);
}

function boundsOf(settings: Settings): ResourceBounds {
  const { deliveryMaxInFlight, retryWindowMs, retryTiersMs, deliveryTimeoutMs } = settings;
  const audienceFilesDir = path.resolve(settings.audienceFilesDir);
  return {
    nowMs: systemClock.now(),
    deliveryMaxInFlight,
    retryWindowMs,
    retryTiersMs,
    deliveryTimeoutMs,
    audienceFilesDir,
  };
}

/** One line each, which is easier to read than one sentence for all. */
function listProblems(context: Context, error: unknown, refused: string): never {
  if (!(error instanceof InvalidResources)) throw error;
  for (const problem of error.problems) context.note(formatProblem(problem));
  const count = error.problems.length;
  const problems = count === 1 ? 'a problem' : `${count} problems`;
  throw new PostriderError('resource-invalid', `${refused}, because of ${problems}`);
}
