import { Option, type Command } from 'commander';
import type { Context } from '../context.ts';
import { showDifferences, type DiffOptions } from '../resources/differences.ts';
import { load, withFiles } from '../resources/plan-files.ts';
import { parseLast } from '../terminal/output.ts';

/** `postrider diff`: what `apply` would change. */
export function registerDiff(program: Command, context: Context): void {
  withFiles(program.command('diff'))
    .description('show what `apply` would change')
    .addOption(
      new Option(
        '--last <number>',
        'also count the newest calls of each source that changed destinations would treat differently',
      ).argParser(parseLast),
    )
    .action(async (options: DiffOptions) =>
      showDifferences(context, await load(context, options), options),
    );
}
