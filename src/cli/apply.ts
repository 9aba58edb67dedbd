import type { Command } from 'commander';
import { PostriderError } from '../errors.ts';
import { systemClock } from '../ops/clock.ts';
import { planFiles, writeChanges } from '../resources/apply/apply.ts';
import type { ParsedFile } from '../resources/apply/document.ts';
import { loadFiles } from '../resources/apply/load-files.ts';
import {
  checkFiles,
  formatChange,
  type Change,
  type PlanOptions,
} from '../resources/apply/plan.ts';
import { formatProblem, InvalidResources } from '../resources/problem.ts';
import type { Resource } from '../resources/resource.ts';
import { createSecretKeys } from '../resources/config/secrets.ts';
import type { Context } from './context.ts';
import { withProducer } from './with-producer.ts';

interface ApplyOptions {
  readonly file: readonly string[];
  readonly dryRun?: true;
  readonly prune?: true;
  readonly rename?: true;
  readonly newKey?: true;
}

type Wishes = Pick<PlanOptions, 'prune' | 'rename' | 'newKey'>;

/** `postrider apply`: create or update resources. */
export function registerApply(program: Command, context: Context): void {
  program
    .command('apply')
    .description('create or update resources; all are validated before any is written')
    .requiredOption('-f, --file <files...>', 'YAML or JSON files, folders of them, or - for stdin')
    .option('--dry-run', 'print what would change and write nothing')
    .option('--prune', 'also delete every resource that the files do not name')
    .option('--rename', 'give audiences and computed traits whose name changed its new trait too')
    .option('--new-key', 'the SECRET_KEY that stored secrets were encrypted with is lost')
    .action((options: ApplyOptions) => apply(context, options));
}

async function apply(context: Context, options: ApplyOptions): Promise<void> {
  const files = await loadFiles(options.file, {
    environment: context.environment,
    stdin: process.stdin,
  });
  const { prune = false, rename = false, newKey = false } = options;
  const wishes = { prune, rename, newKey };
  const isDryRun = options.dryRun === true;
  const changes = isDryRun
    ? await plan(context, files, wishes)
    : await applyFiles(context, files, wishes);
  const note = isDryRun ? ' (dry run)' : '';
  for (const change of changes) context.print(`${formatChange(change)}${note}`);
}

/** For `dev`: lists what is wrong with the files before anything else is begun. */
export function checkFirst(
  { settings }: Context,
  files: ParsedFile,
  stored: readonly Resource[] | undefined,
): void {
  try {
    checkFiles(files, stored, settings.deliveryMaxInFlight);
  } catch (error) {
    listProblems(error);
  }
}

/** Validates, then writes; resolves when all is written. Problems are listed on stderr. */
export async function applyFiles(
  context: Context,
  files: ParsedFile,
  wishes: Wishes = { prune: false, rename: false, newKey: false },
): Promise<readonly Change[]> {
  const changes = await plan(context, files, wishes);
  await write(context, changes);
  return changes;
}

async function plan(
  context: Context,
  files: ParsedFile,
  wishes: Wishes,
): Promise<readonly Change[]> {
  const { settings, kafka, log } = context;
  const access = { kafka, topology: await context.topology(), clock: systemClock, log };
  const secretKeys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const { deliveryMaxInFlight } = settings;
  const planOptions = { secretKeys, deliveryMaxInFlight, ...wishes };
  return planFiles(access, files, planOptions).catch(listProblems);
}

/** Also for `delete`: writes with a producer of its own. */
export async function write(context: Context, changes: readonly Change[]): Promise<void> {
  if (changes.every(({ value }) => value === undefined)) return;
  const { kafka } = context;
  const topology = await context.topology();
  await withProducer(context, (producer) => writeChanges({ kafka, topology, producer }, changes));
}

/** One line each, which is easier to read than one sentence for all. */
function listProblems(error: unknown): never {
  if (!(error instanceof InvalidResources)) throw error;
  for (const problem of error.problems) process.stderr.write(`${formatProblem(problem)}\n`);
  const count = error.problems.length;
  const problems = count === 1 ? 'a problem' : `${count} problems`;
  throw new PostriderError('resource-invalid', `nothing was applied, because of ${problems}`);
}
