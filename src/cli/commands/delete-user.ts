import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { counted, printable } from '../../printable.ts';
import { affectedBy, findSources } from '../../deletion/affected.ts';
import { deleteUsers } from '../../deletion/delete-users.ts';
import { departureTierMs } from '../../deletion/notification.ts';
import { DeletionReport } from '../../deletion/report.ts';
import { collectUserIds, type UserFile, type UserIds } from '../../deletion/user-ids.ts';
import { PostriderError } from '../../errors.ts';
import { buildDeleteBody } from '../../event/body.ts';
import { systemClock } from '../../ops/clock.ts';
import { timeToEnd } from '../../ops/wait.ts';
import {
  followStoredResources,
  type FollowedResources,
} from '../../resources/config/config-topic.ts';
import { fenceMs } from '../../resources/fence/fence.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { formatTable } from '../../resources/table.ts';
import { auditedRun } from '../audit.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/terminal.ts';
import { isForPrograms, present, withJson, type OutputOptions } from '../terminal/output.ts';
import { whyUnreadable } from '../terminal/output.ts';
import { withProducer } from '../connect/with-producer.ts';

interface DeleteUserOptions extends OutputOptions {
  readonly file?: string;
  readonly source?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

/** `postrider delete-user`: forwards requests to delete users, and keeps back what is older. */
export function registerDeleteUser(program: Command, context: Context): void {
  withJson(program.command('delete-user'))
    .description(
      'tell every enabled destination that users were deleted, and drop their undelivered events',
    )
    .argument('[user...]', 'ids of users')
    .option('--file <file>', 'file with more ids, one per line; - for stdin')
    .option('--source <id>', 'only for this source; without it, for all')
    .option('--dry-run', 'send nothing; print what would be sent')
    .option('--yes', 'do not ask')
    .action((users: readonly string[], options: DeleteUserOptions) =>
      deleteUser(context, users, options),
    );
}

async function deleteUser(
  context: Context,
  args: readonly string[],
  options: DeleteUserOptions,
): Promise<void> {
  const file = options.file === undefined ? undefined : await readUserFile(context, options.file);
  const users = collectUserIds(args, file);
  const { kafka, log } = context;
  const topology = await context.topology();
  const config = await followStoredResources({ kafka, topology, log });
  const report = new DeletionReport();
  try {
    const sourceIds = findSources(config.resources, options.source);
    // What cannot be notified is said before anything is written.
    const affected = affectedBy(config.resources, sourceIds);
    if (options.dryRun === true) report.add(users.ids.length, affected);
    else {
      // Without their ids: the audit outlives what is deleted.
      const detail = `${counted(users.ids.length, 'user')} at ${sourceIds.join(', ')}`;
      if (options.yes !== true)
        await confirm(
          context.terminal,
          `this deletes ${detail}, for good`,
          'to confirm without a terminal, add --yes',
        );
      await auditedRun(context, { action: 'delete-user' }, detail, async (onDone) => {
        await run(context, users.ids, sourceIds, config, report, onDone);
        const left = users.ids.length - report.users;
        return { leftOut: left === 0 ? [] : [`stopped; ${counted(left, 'user')} left`] };
      });
    }
  } finally {
    await config.stop();
  }
  print(context, options, users, report);
  const { ids } = users;
  if (report.users === ids.length) return;
  const message = `stopped before user ${quoted(ids[report.users])}; if you run it again with all users, it sends the notifications of the first ones again`;
  throw new PostriderError('stopped', message);
}

async function run(
  context: Context,
  userIds: readonly string[],
  sourceIds: readonly string[],
  config: FollowedResources,
  report: DeletionReport,
  onDeleted: (users: number) => void,
): Promise<void> {
  const { kafka, settings } = context;
  const topology = await context.topology();
  const afterMs = fenceMs(settings);
  const tierMs = departureTierMs(topology.retryTiersMs, afterMs);
  const topics = [topology.topics.deletions, topology.retryTopic(tierMs)];
  await requireTopics(
    kafka,
    topics.map((name) => ({ name })),
  );
  const stopping = context.stopping();
  const status = context.status(
    () => `${report.users} of ${counted(userIds.length, 'user')} deleted`,
  );
  try {
    await withProducer(
      context,
      (producer) =>
        deleteUsers({
          userIds,
          sourceIds,
          config,
          topology,
          producer,
          clock: systemClock,
          fenceMs: afterMs,
          signal: stopping,
          onDeleted: (more, affected, effectiveMs) => {
            report.add(more, affected, effectiveMs);
            onDeleted(more);
          },
        }),
      timeToEnd(stopping),
    );
  } catch (error) {
    status.clear();
    context.note(
      `failed at user ${quoted(userIds[report.users])}: from there on, events may be dropped already, and destinations not told yet. Run it again with all users`,
    );
    throw error;
  } finally {
    status.stop();
  }
}

/** Ids may hold anything. */
function quoted(userId: string | undefined): string {
  return printable(JSON.stringify(userId));
}

/** @throws PostriderError `input-invalid` */
async function readUserFile({ terminal }: Context, path: string): Promise<UserFile> {
  if (path === '-') return { name: 'the standard input', bytes: await buffer(terminal.stdin) };
  const bytes = await readFile(path).catch((cause: unknown) => {
    const { code = 'no reason' } = cause as NodeJS.ErrnoException;
    throw new PostriderError('input-invalid', `${path} ${whyUnreadable(code)}`, { cause });
  });
  return { name: path, bytes };
}

function print(
  context: Context,
  options: DeleteUserOptions,
  { ids, repeated, emptyLines }: UserIds,
  report: DeletionReport,
): void {
  const isDryRun = options.dryRun === true;
  if (isForPrograms(options)) {
    const data = { dryRun: isDryRun, ...report.summary(), repeated, emptyLines };
    context.print(
      present(
        options.output,
        () => data,
        () => '',
      ),
    );
    return;
  }
  context.print(formatTable(['SOURCE', 'DESTINATION', 'NOTIFICATIONS'], report.rows()));
  for (const warning of report.warnings()) context.note(warning);
  if (repeated > 0) context.note(`${counted(repeated, 'id')} repeated, used once`);
  if (emptyLines > 0) context.note(`${counted(emptyLines, 'empty line')} skipped`);
  const what = `${counted(report.users, 'user')} at ${counted(report.sources, 'source')}`;
  const sent = counted(report.notifications, 'notification');
  if (isDryRun) {
    const body = buildDeleteBody(ids[0] ?? '', new Date(systemClock.now()).toISOString());
    context.print(
      `nothing written; without --dry-run: ${what} deleted, ${sent} such as ${printable(body)}`,
    );
  } else if (report.effectiveAt !== undefined)
    context.print(
      `${what} deleted as of ${report.effectiveAt}: nothing older is delivered after that; ${sent} on the way`,
    );
}
