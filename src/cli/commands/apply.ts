import { Option, type Command } from 'commander';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { formatChange, type Change } from '../../resources/apply/plan.ts';
import { changesInWords } from '../../resources/apply/changes-in-words.ts';
import { recordKey } from '../../resources/config/stored.ts';
import { auditedChange } from '../resources/audited-change.ts';
import type { Context } from '../context.ts';
import { printChanges, showDifferences } from '../resources/differences.ts';
import {
  checkFirst,
  load,
  planNow,
  warnOfRefusedUrls,
  withFiles,
  type FileOptions,
} from '../resources/plan-files.ts';
import { confirmRemoval, refuseMassRemoval } from '../resources/removal.ts';
import { parseCount, isForPrograms } from '../terminal/output.ts';

interface ApplyOptions extends FileOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly maxDeleted?: number;
}

/** `postrider apply`: create or update resources. */
export function registerApply(program: Command, context: Context): void {
  withFiles(program.command('apply'))
    .description('create or update resources from YAML or JSON files')
    .option('--dry-run', 'write nothing, and show what would change, like `diff`')
    .option('--yes', 'with --prune: do not ask before deleting')
    .addOption(
      new Option(
        '--max-deleted <number>',
        'with --prune: delete up to that many resources (default: a fifth of those that are stored, or five)',
      ).argParser(parseCount),
    )
    .action(async (options: ApplyOptions) => {
      if (options.dryRun !== true) {
        await apply(context, options);
        return;
      }
      const files = await load(context, options);
      if (context.settings.kafkaBrokers === undefined) await checkOnly(context, files, options);
      else await showDifferences(context, files, options);
    });
}

async function apply(context: Context, options: ApplyOptions): Promise<void> {
  const progress = { isWriting: false };
  try {
    const files = await load(context, options);
    checkFirst(context, files, 'unknown');
    await warnOfRefusedUrls(context, files);
    let confirmed = '';
    const changes = await auditedChange(context, async (followed) => {
      const { changes: planned, stored } = await planNow(context, files, options, followed);
      const removed = planned.filter(({ action }) => action === 'delete');
      refuseMassRemoval(removed.length, stored.size, options.maxDeleted);
      const names = removed.map(recordKey).join();
      if (names !== confirmed) await confirmRemoval(context, stored, removed, options);
      confirmed = names;
      const written = planned.filter(({ value }) => value !== undefined);
      const onWrite = (): void => {
        progress.isWriting = true;
      };
      const done = { action: 'apply', detail: changesInWords(written) } as const;
      return { changes: planned, done, onWrite };
    });
    printChanges(context, options, { isCompared: true, changes }, changedLine);
    if (!isForPrograms(options)) context.print(totalsOf(changes));
  } catch (error) {
    // The log of a Job is all that its reader has.
    context.note(
      progress.isWriting
        ? 'some of the changes may be in force; apply the files again'
        : 'nothing was changed; what was applied before stays in force',
    );
    throw error;
  }
}

/** Thousands of lines that say that nothing changed would hide the others. */
function changedLine(change: Change): string | undefined {
  return change.action === 'unchanged' ? undefined : formatChange(change);
}

const pastTenses = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  unchanged: 'unchanged',
};

/** For example `2 created, 1 updated, 4,997 unchanged`. */
function totalsOf(changes: readonly Change[]): string {
  const counts = Object.entries(pastTenses).map(([action, past]) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${past}`];
  });
  return counts.flat().join(', ');
}

/** Needs no Kafka, so that a build can do it. */
async function checkOnly(context: Context, files: ParsedFile, options: FileOptions): Promise<void> {
  checkFirst(context, files, options.prune === true ? 'pruned' : 'unknown');
  await warnOfRefusedUrls(context, files);
  const isAll = options.prune === true;
  context.note(
    `the files are valid; they were not compared with stored resources, because KAFKA_BROKERS is not set${
      isAll ? '' : ', and references to resources outside of them were not checked'
    }`,
  );
  printChanges(context, options, { isCompared: false, changes: [] }, formatChange);
}
