import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Context } from '../context.ts';
import { withJson } from '../terminal/output.ts';
import type { AudienceSyncOptions } from '../audiences/sync-audiences.ts';

/** `postrider audience-sync`: who entered and left audiences, and what computed traits became. */
export function registerAudienceSync(program: Command, context: Context): void {
  withJson(program.command('audience-sync'))
    .description('send what changed in audiences and computed traits since the last sync')
    .argument('[ids...]', 'audiences and computed traits; without any, all')
    .option('--dry-run', 'send nothing; count what would be sent, and show some of it')
    .option(
      '--yes',
      'do not ask before the first sync of an audience, which is about all of its users',
    )
    .option('--full', 'send all users, changed or not; continues a full sync that was cut off')
    .option(
      '--destination <id>',
      'with --full: send users that did not change only to this destination',
    )
    .option('--allow-empty', 'accept that an audience that had members has none')
    .option('--allow-old', 'accept data that is older than its maxAge')
    .addOption(
      percent(
        '--max-removed',
        'largest share of its users that may leave in one sync; default 20',
        100,
      ),
    )
    .addOption(
      percent(
        '--max-changed',
        'largest share of its users that may get the same new value in one sync; default 20',
        100,
      ),
    )
    .addOption(
      percent(
        '--max-added',
        'largest share of its users that may be added in one sync; default 100',
        1e6,
      ),
    )
    .option('--retire', 'only take back former traits, and traits from former destinations')
    .option('--keep-traits', 'only forget former traits and destinations; users keep the traits')
    .option('--history', 'only show what the last syncs did')
    .option('--checkpoint-dir <dir>', 'folder for checkpoints, instead of AUDIENCE_CHECKPOINT_DIR')
    .option('--serve-metrics', 'serve /metrics on OPS_PORT while the sync runs')
    .option(
      '--textfile <file>',
      'write metrics to this file, for the textfile collector of node_exporter',
    )
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
