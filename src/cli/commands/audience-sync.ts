import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Context } from '../context.ts';
import { withJson } from '../terminal/output.ts';
import type { AudienceSyncOptions } from '../audiences/sync-audiences.ts';

/** `postrider audience-sync`: who entered and left audiences, and what computed traits became. */
export function registerAudienceSync(program: Command, context: Context): void {
  withJson(program.command('audience-sync'))
    .description('tell destinations who entered or left audiences, and what computed traits became')
    .argument('[ids...]', 'audiences and computed traits; all without one')
    .option('--dry-run', 'count what would be sent, show some of it, and send nothing')
    .option('--yes', 'tell everyone of an audience that told nobody before, without being asked')
    .option('--full', 'tell about everyone, changed or not; goes on where one was cut off')
    .option('--destination <id>', 'with --full: who did not change is told to this one alone')
    .option('--allow-empty', 'an audience that had members may have none')
    .addOption(percent('--max-removed', 'of its users, that may leave at once; default 20', 100))
    .addOption(
      percent('--max-changed', 'of its users, that may get the same new value; default 20', 100),
    )
    .addOption(percent('--max-added', 'of its users, that may come at once; default 100', 1e6))
    .option('--retire', 'only take back what audiences say no more: former traits and destinations')
    .option('--keep-traits', 'only forget what audiences say no more; users keep it')
    .option('--history', 'only show what the last syncs did')
    .option('--checkpoint-dir <dir>', 'in the place of AUDIENCE_CHECKPOINT_DIR')
    .option('--serve-metrics', 'answer /metrics on OPS_PORT while it runs')
    .option('--textfile <file>', "write metrics to this file, for node_exporter's collector")
    .action(async (ids: readonly string[], options: AudienceSyncOptions) => {
      // DuckDB takes time and memory that no other command has to give.
      const { syncAudiences } = await import('../audiences/sync-audiences.ts');
      await syncAudiences(context, ids, options);
    });
}

function percent(name: string, description: string, most: number): Option {
  return new Option(`${name} <percent>`, description).argParser((text) => {
    const given = /^\d{1,7}%?$/.test(text) ? parseInt(text, 10) : NaN;
    if (given <= most) return given;
    throw new InvalidArgumentError(`Allowed: a whole number from 0 to ${most}.`);
  });
}
