import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseShard, type Shard } from '../audience/shard.ts';
import type { Context } from './context.ts';
import type { AudienceSyncOptions } from './sync-audiences.ts';

/** `postrider audience-sync`: who entered and left audiences, and what computed traits became. */
export function registerAudienceSync(program: Command, context: Context): void {
  program
    .command('audience-sync')
    .description('tell destinations who entered or left audiences, and what computed traits became')
    .argument('[ids...]', 'audiences and computed traits; all without one')
    .option('--dry-run', 'count what would be sent, show some of it, and send nothing')
    .option('--full', 'tell about everyone, changed or not')
    .option('--destination <id>', 'with --full: who did not change is told to this one alone')
    .option(
      '--shard <n/count>',
      'one of several processes, e.g. 3/8, or auto/8 in a Kubernetes Indexed Job',
      (text) => parseShardOption(context, text),
    )
    .option('--allow-empty', 'an audience that had members may have none')
    .addOption(
      new Option('--max-removed <percent>', 'of its users, that an audience may lose at once')
        .argParser(parsePercent)
        .default(50),
    )
    .option('--checkpoint-dir <dir>', 'in the place of AUDIENCE_CHECKPOINT_DIR')
    .option('--json', 'print the report as JSON')
    .option('--serve-metrics', 'answer /metrics on OPS_PORT while it runs')
    .option('--textfile <file>', "write metrics to this file, for node_exporter's collector")
    .action(async (ids: readonly string[], options: AudienceSyncOptions) => {
      // DuckDB takes time and memory that no other command has to give.
      const { syncAudiences } = await import('./sync-audiences.ts');
      await syncAudiences(context, ids, options);
    });
}

function parseShardOption(context: Context, text: string): Shard {
  const shard = parseShard(text, context.environment['JOB_COMPLETION_INDEX']);
  if (shard !== undefined) return shard;
  throw new InvalidArgumentError(
    'Allowed: <n>/<count> such as 3/8, or auto/<count> where JOB_COMPLETION_INDEX is set.',
  );
}

function parsePercent(text: string): number {
  const percent = /^\d{1,3}%?$/.test(text) ? parseInt(text, 10) : NaN;
  if (percent <= 100) return percent;
  throw new InvalidArgumentError('Allowed: a whole number from 0 to 100.');
}
