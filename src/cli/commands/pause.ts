import type { Command } from 'commander';
import { formatDuration } from '../../duration.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { requireDestination } from '../../resources/find-destination.ts';
import { pauseRecord, type Pause } from '../../resources/pauses/pause.ts';
import { readPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import { sendKept, withWaysBack, type DeadRedriveOptions } from '../letters/events-again.ts';
import { withRate } from '../letters/options.ts';

/** `postrider pause` and `resume`: nothing is sent to a destination for a while, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  program
    .command('pause')
    .description('send nothing to a destination until you resume it')
    .argument('<destination>')
    .action((id: string) => pause(context, id));
}

export function registerResume(program: Command, context: Context): void {
  withRate(program.command('resume'), '100/s')
    .description('send to a paused destination again, kept events first')
    .argument('<destination>')
    .action((id: string, options: Pick<DeadRedriveOptions, 'rate'>) =>
      resume(context, id, options),
    );
}

/** @throws PostriderError `not-found` */
export async function pause(context: Context, id: string): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  requireDestination(await readStoredResources({ kafka, topology, log }), id);
  const before = (await readPauses(kafka, topology)).get(id);
  if (before !== undefined) {
    context.print(`destination ${id} is paused already, since ${sinceText(before)}`);
    return;
  }
  await write(context, id, { since: new Date(systemClock.now()).toISOString() });
  const keptFor = formatDuration(topology.pausedRetentionMs);
  context.print(
    `destination ${id} is paused: its events are kept for ${keptFor}, and \`postrider resume ${id}\` sends them`,
  );
}

/** @throws PostriderError `not-found`, `busy` */
export async function resume(
  context: Context,
  id: string,
  options: Pick<DeadRedriveOptions, 'rate' | 'onSent'>,
): Promise<void> {
  const { kafka } = context;
  const topology = await context.topology();
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  await withWaysBack(context, async (ways) => {
    requireDestination(ways.config.resources, id);
    const before = (await readPauses(kafka, topology)).get(id);
    await write(context, id, undefined);
    context.print(
      before === undefined
        ? `destination ${id} was not paused; sending what is still kept for it`
        : `destination ${id} is resumed, after a pause since ${sinceText(before)}`,
    );
    await sendKept(context, ways, id, options);
  });
}

function sinceText({ since, failingSince }: Pause): string {
  return failingSince === undefined
    ? since
    : `${since}, by disableAfter: it had failed since ${failingSince}`;
}

async function write(context: Context, id: string, pause: Pause | undefined): Promise<void> {
  const { pauses } = (await context.topology()).topics;
  await withProducer(context, (producer) => producer.send([pauseRecord(pauses, id, pause)]));
}
