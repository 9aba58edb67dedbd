import path from 'node:path';
import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { systemClock } from '../../ops/clock.ts';
import {
  makeDedicatedTopics,
  planFiles,
  planOn,
  recordsOf,
  type Plan,
} from '../../resources/apply/apply.ts';
import { findRefusedUrls, type ResourceBounds } from '../../resources/apply/desired.ts';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { loadFiles } from '../../resources/apply/load-files.ts';
import {
  checkFiles,
  type Change,
  type Others,
  type PlanOptions,
} from '../../resources/apply/plan.ts';
import {
  followStoredResources,
  type ConfigTopicAccess,
  type FollowedResources,
} from '../../resources/config/config-topic.ts';
import { ConfigWriter } from '../../resources/config/config-writer.ts';
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
  readonly takeOver?: true;
}

export function withFiles(command: Command): Command {
  return withOutput(command)
    .requiredOption(
      '-f, --file <files...>',
      'YAML or JSON files, folders with such files, or - for stdin',
    )
    .option(
      '--prune',
      'also delete all resources that are not in the files, but those that the API manages',
    )
    .option(
      '--take-over',
      'from now on, files manage what they name, also what the API has managed',
    )
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
  checkFirst(context, files, 'unknown');
  await warnOfRefusedUrls(context, files);
  const access = await configAccess(context);
  const planned = planFiles(access, files, planOptions(context, wishes));
  return planned.catch((error: unknown) => listProblems(context, error, 'nothing was applied'));
}

/** The same, compared with what is stored now. */
export async function planNow(
  context: Context,
  files: ParsedFile,
  wishes: Wishes,
  followed: FollowedResources,
): Promise<Plan> {
  const access = await configAccess(context);
  const planned = planOn(access, followed, files, planOptions(context, wishes));
  return planned.catch((error: unknown) => listProblems(context, error, 'nothing was applied'));
}

async function configAccess(context: Context): Promise<ConfigTopicAccess> {
  const { kafka, log } = context;
  return { kafka, topology: await context.topology(), log };
}

function planOptions(
  { settings }: Context,
  wishes: Wishes,
): Omit<PlanOptions, 'records' | 'identityOf'> {
  const secretKeys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const { prune = false, rename = false, newKey = false } = wishes;
  const { endOverlap = false, takeOver = false } = wishes;
  return {
    secretKeys,
    prune,
    takeOver,
    rename,
    newKey,
    endOverlap,
    ...boundsOf(settings),
  };
}

/** For `dev`: validates, then writes; resolves when all is written. */
export async function applyFiles(context: Context, files: ParsedFile): Promise<readonly Change[]> {
  checkFirst(context, files, 'unknown');
  await warnOfRefusedUrls(context, files);
  return changeResources(context, async (followed) => {
    const { changes } = await planNow(context, files, {}, followed);
    return { changes };
  });
}

/** Changes that a command has decided on. */
interface Decided {
  readonly changes: readonly Change[];
  /** Done before anything is written, such as an entry in the audit. */
  readonly before?: () => Promise<void>;
}

/**
 * Changes resources with nobody else between. Resolves to the changes when they are written.
 * @param decide is called again when what is stored has changed meanwhile
 */
export async function changeResources(
  context: Context,
  decide: (followed: FollowedResources) => Promise<Decided>,
): Promise<readonly Change[]> {
  const access = await configAccess(context);
  const followed = await followStoredResources(access);
  const writer = new ConfigWriter(access, followed);
  let after: readonly OutgoingRecord[] = [];
  try {
    const { result } = await writer.change(async () => {
      const { changes, before } = await decide(followed);
      return {
        records: recordsOf(changes),
        result: changes,
        before: async () => {
          await before?.();
          await makeDedicatedTopics(access, changes);
          const beside = await recordsFor(context, changes);
          after = beside.after;
          await send(context, beside.before);
        },
      };
    });
    await send(context, after);
    return result;
  } finally {
    writer.close();
    await followed.stop();
  }
}

async function send(context: Context, records: readonly OutgoingRecord[]): Promise<void> {
  if (records.length > 0) await withProducer(context, (producer) => producer.send(records));
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

/** The settings that bound the content of resources. */
export function resourceBounds(settings: Settings): Omit<ResourceBounds, 'nowMs'> {
  const { deliveryMaxInFlight, retryWindowMs, retryTiersMs, deliveryTimeoutMs } = settings;
  const audienceFilesDir = path.resolve(settings.audienceFilesDir);
  return {
    deliveryMaxInFlight,
    retryWindowMs,
    retryTiersMs,
    deliveryTimeoutMs,
    audienceFilesDir,
  };
}

function boundsOf(settings: Settings): ResourceBounds {
  return { ...resourceBounds(settings), nowMs: systemClock.now() };
}

/** One line each, which is easier to read than one sentence for all. */
function listProblems(context: Context, error: unknown, refused: string): never {
  if (!(error instanceof InvalidResources)) throw error;
  for (const problem of error.problems) context.note(formatProblem(problem));
  const count = error.problems.length;
  const problems = count === 1 ? 'a problem' : `${count} problems`;
  throw new PostriderError('resource-invalid', `${refused}, because of ${problems}`);
}
