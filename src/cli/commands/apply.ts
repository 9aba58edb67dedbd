import type { Command } from 'commander';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { formatChange } from '../../resources/apply/plan.ts';
import { audited, changesText } from '../audit.ts';
import type { Context } from '../context.ts';
import { printChanges, showDifferences } from '../resources/differences.ts';
import {
  checkFirst,
  load,
  othersOf,
  planFrom,
  warnOfInnerAddresses,
  withFiles,
  write,
  type FileOptions,
} from '../resources/plan-files.ts';
import { confirmRemoval } from '../resources/removal.ts';

interface ApplyOptions extends FileOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

/** `postrider apply`: create or update resources. */
export function registerApply(program: Command, context: Context): void {
  withFiles(program.command('apply'))
    .description('create or update resources from YAML or JSON files')
    .option('--dry-run', 'write nothing, and show what would change, like `diff`')
    .option('--yes', 'with --prune: do not ask before deleting')
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
  let isWriting = false;
  try {
    const files = await load(context, options);
    const { changes, stored } = await planFrom(context, files, options);
    const removed = changes.filter(({ action }) => action === 'delete');
    await confirmRemoval(context, stored, removed, options);
    isWriting = true;
    const written = changes.filter(({ value }) => value !== undefined);
    if (written.length > 0)
      await audited(context, { action: 'apply', detail: changesText(written) }, () =>
        write(context, changes),
      );
    printChanges(context, options, { isCompared: true, changes }, formatChange);
  } catch (error) {
    // The log of a Job is all that its reader has.
    context.note(
      isWriting
        ? 'some of the changes may be in force; apply the files again'
        : 'nothing was changed; what was applied before stays in force',
    );
    throw error;
  }
}

/** Needs no Kafka, so that a build can do it. */
async function checkOnly(context: Context, files: ParsedFile, options: FileOptions): Promise<void> {
  checkFirst(context, files, othersOf(options));
  await warnOfInnerAddresses(context, files);
  const isAll = options.prune === true;
  context.note(
    `the files are valid; they were not compared with stored resources, because KAFKA_BROKERS is not set${
      isAll ? '' : ', and references to resources outside of them were not checked'
    }`,
  );
  printChanges(context, options, { isCompared: false, changes: [] }, formatChange);
}
