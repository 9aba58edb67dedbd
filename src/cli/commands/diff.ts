import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { showDifferences } from '../resources/differences.ts';
import { load, withFiles, type FileOptions } from '../resources/plan-files.ts';

/** `postrider diff`: what `apply` would change. */
export function registerDiff(program: Command, context: Context): void {
  withFiles(program.command('diff'))
    .description('show what `apply` would change')
    .action(async (options: FileOptions) =>
      showDifferences(context, await load(context, options), options),
    );
}
