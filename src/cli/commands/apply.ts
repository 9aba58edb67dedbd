import type { Command } from 'commander';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { formatChange } from '../../resources/apply/plan.ts';
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
import { note } from '../terminal/note.ts';

interface ApplyOptions extends FileOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

/** `postrider apply`: create or update resources. */
export function registerApply(program: Command, context: Context): void {
  withFiles(program.command('apply'))
    .description('create or update resources; all are validated before any is written')
    .option('--dry-run', 'write nothing: do as `diff`; without KAFKA_BROKERS, check the files')
    .option('--yes', 'with --prune: delete without asking')
    .action(async (options: ApplyOptions) => {
      const files = await load(context, options);
      if (options.dryRun !== true) await apply(context, files, options);
      else if (context.settings.kafkaBrokers === undefined)
        await checkOnly(context, files, options);
      else await showDifferences(context, files, options);
    });
}

async function apply(context: Context, files: ParsedFile, options: ApplyOptions): Promise<void> {
  const { changes, stored } = await planFrom(context, files, options);
  const removed = changes.filter(({ action }) => action === 'delete');
  await confirmRemoval(context, stored, removed, options);
  await write(context, changes);
  printChanges(context, options, { isCompared: true, changes }, formatChange);
}

/** Needs no Kafka, so that a build can do it. */
async function checkOnly(context: Context, files: ParsedFile, options: FileOptions): Promise<void> {
  checkFirst(context, files, othersOf(options));
  await warnOfInnerAddresses(context, files);
  const isAll = options.prune === true;
  note(
    `the files are valid; they were compared with nothing, because KAFKA_BROKERS is not set${
      isAll ? '' : ', and what only others define was not looked for'
    }`,
  );
  printChanges(context, options, { isCompared: false, changes: [] }, formatChange);
}
