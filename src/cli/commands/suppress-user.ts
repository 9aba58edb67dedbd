import type { Command } from 'commander';
import { collectUserIds } from '../../deletion/user-ids.ts';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { counted, printable } from '../../printable.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import {
  readSuppressions,
  suppressionRecord,
} from '../../resources/suppressions/suppressed-users.ts';
import { formatTable } from '../../resources/table.ts';
import { audited } from '../audit.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface SuppressUserOptions extends OutputOptions {
  readonly lift?: true;
  readonly list?: true;
}

/** `postrider suppress-user`: nothing of a user is routed any more. */
export function registerSuppressUser(program: Command, context: Context): void {
  withOutput(program.command('suppress-user'))
    .description('route no call of a user any more, until you lift that')
    .argument('[user...]', 'ids of users')
    .option('--lift', 'route their calls again')
    .option('--list', 'print who is suppressed')
    .action((users: readonly string[], options: SuppressUserOptions) =>
      options.list === true ? list(context, users, options) : suppress(context, users, options),
    );
}

async function list(
  context: Context,
  given: readonly string[],
  { lift, output }: SuppressUserOptions,
): Promise<void> {
  if (given.length > 0 || lift === true)
    throw new PostriderError('usage', 'with --list, name no users, and leave out --lift');
  const found = await readSuppressions(context.kafka, await context.topology());
  const users = Array.from(found, ([user, sinceMs]) => ({
    user,
    since: new Date(sinceMs).toISOString(),
  })).sort((a, b) => (a.since < b.since ? -1 : 1));
  const rows = users.map(({ user, since }) => [printable(user), since]);
  context.print(
    present(
      output,
      () => users,
      () => formatTable(['USER', 'SINCE'], rows),
    ),
  );
}

async function suppress(
  context: Context,
  given: readonly string[],
  { lift, output }: SuppressUserOptions,
): Promise<void> {
  if (given.length === 0) throw new PostriderError('usage', 'name users, or use --list');
  const { ids } = collectUserIds(given, undefined);
  const topic = (await context.topology()).topics.suppressions;
  await requireTopics(context.kafka, [{ name: topic }]);
  const isLifted = lift === true;
  const time = isLifted ? undefined : new Date(systemClock.now()).toISOString();
  // Without their ids: the audit outlives what is deleted.
  const detail = `${isLifted ? 'lifted for' : 'began for'} ${counted(ids.length, 'user')}`;
  await audited(context, { action: 'suppress-user', detail }, () =>
    withProducer(context, async (producer) => {
      await producer.send(ids.map((id) => suppressionRecord(topic, id, time)));
    }),
  );
  const whose = ids.length === 1 ? `user ${printable(ids[0] ?? '')}` : `${ids.length} users`;
  const text = isLifted
    ? `calls of ${whose} are routed again, within two seconds`
    : `calls of ${whose} are not routed any more, within two seconds; what is on its way goes on`;
  context.print(
    present(
      output,
      () => ({ users: ids, suppressed: !isLifted }),
      () => text,
    ),
  );
}
