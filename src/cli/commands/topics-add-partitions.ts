import { InvalidArgumentError, type Command } from 'commander';
import { addPartitions, effectsOf, planGrowth } from '../../resources/add-partitions.ts';
import { withAdmin } from '../../kafka/admin.ts';
import { enumerated } from '../../printable.ts';
import { describeOurs } from '../../resources/topics.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/terminal.ts';

interface AddPartitionsOptions {
  readonly partitions: number;
  readonly yes?: true;
}

/** `postrider topics add-partitions`: never done by the way, because it moves keys. */
export function registerAddPartitions(topics: Command, context: Context): void {
  topics
    .command('add-partitions')
    .description(
      'give topics more partitions; says what that does to order and rate limits, and asks',
    )
    .argument('[topic...]', 'full names; without any, all that may grow but dedicated topics')
    .requiredOption('--partitions <count>', 'how many each has then', parseCount)
    .option('--yes', 'do not ask')
    .action((names: readonly string[], options: AddPartitionsOptions) =>
      growTopics(context, names, options),
    );
}

async function growTopics(
  context: Context,
  names: readonly string[],
  { partitions, yes }: AddPartitionsOptions,
): Promise<void> {
  const { kafka, settings } = context;
  const topology = await context.topology();
  const existing = await withAdmin(kafka, (admin) => describeOurs(admin, topology));
  const growth = planGrowth(topology, existing, { names, partitions });
  if (growth.length === 0) {
    context.print(`nothing to do: every topic has ${partitions} partitions`);
  } else {
    for (const { name, from, to } of growth) context.note(`${name}: ${from} to ${to} partitions`);
    for (const effect of effectsOf(topology, growth)) context.note(effect);
    const doing = `this adds partitions to ${growth.length} topic${growth.length === 1 ? '' : 's'}`;
    if (yes !== true)
      await confirm(context.terminal, doing, 'nobody can be asked here, so add --yes to do it');
    const texts = growth.map(({ name, from, to }) => `${name} from ${from} to ${to}`);
    await audited(context, { action: 'add-partitions', detail: enumerated(texts) }, () =>
      addPartitions(kafka, growth),
    );
    for (const { name, to } of growth) context.print(`${name} has ${to} partitions`);
  }
  const isOfDestination = (name: string): boolean =>
    topology.dedicatedDestination(name) !== undefined;
  if (names.length > 0 && names.every(isOfDestination))
    context.note(
      `set partitions: ${partitions} in the file of each of these destinations, for \`topics --check\` and in case a topic is made again`,
    );
  else if (settings.topicPartitions !== partitions)
    context.note(
      `TOPIC_PARTITIONS is ${settings.topicPartitions}: set it to ${partitions} everywhere, for topics that are made later and for \`topics --check\``,
    );
}

function parseCount(text: string): number {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('Allowed: a whole number from 1 to 10000.');
}
