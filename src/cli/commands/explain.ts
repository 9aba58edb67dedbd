import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import type { Evidence } from '../../explain/evidence.ts';
import { lookUp } from '../../explain/look-up.ts';
import { presentStory } from '../../explain/present.ts';
import { tellStory } from '../../explain/story.ts';
import type { TopicReader } from '../../explain/topic-reader.ts';
import { systemClock } from '../../ops/clock.ts';
import { openSchemas } from '../../schemas/open-schemas.ts';
import { registryAccess } from '../connect/connection.ts';
import type { Context } from '../context.ts';
import { parseTime } from '../letters/options.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly user?: string;
  readonly since?: number;
}

/** `postrider explain`: what became of one call, and why. */
export function registerExplain(program: Command, context: Context): void {
  withOutput(program.command('explain'))
    .description('show what became of one call at each destination, and why')
    .argument('<messageId>', 'message id, as the sender set it or as receivers get it')
    .option('--user <id>', 'user of the call; this reads only the partitions of this user')
    .option(
      '--since <time>',
      'only calls received since then: 2h (ago) or an ISO 8601 time',
      parseTime,
    )
    .action((messageId: string, options: Options) => explain(context, messageId, options));
}

async function explain(context: Context, messageId: string, options: Options): Promise<void> {
  const { settings, credentials, kafka } = context;
  const { user, since: sinceMs, output } = options;
  const topology = await context.topology();
  const nowMs = systemClock.now();
  if (user === undefined)
    context.note('looking through all partitions; with --user, only those of the user are read');
  let reader: TopicReader | undefined;
  const status = context.status(() => progressOf(reader));
  const question = { messageId, user, sinceMs, dedupeWindowMs: settings.dedupeWindowMs };
  const evidence = await lookUp(
    {
      kafka,
      topology,
      nowMs,
      schemas: await openSchemas(registryAccess(settings, credentials), systemClock),
      onReader: (each) => (reader = each),
    },
    question,
  ).finally(() => {
    status.stop();
  });
  if (isEmpty(evidence)) throw notFound(messageId, user, sinceMs, reader);
  const story = tellStory(evidence);
  const text = (format: 'table' | 'wide'): string =>
    presentStory(story, format === 'wide' ? Infinity : undefined);
  context.print(present(output, () => story, text));
}

function isEmpty({ calls, rejected, lines, letters, waiting }: Evidence): boolean {
  return [calls, rejected, lines, letters, waiting].every(({ length }) => length === 0);
}

function notFound(
  messageId: string,
  user: string | undefined,
  sinceMs: number | undefined,
  reader: TopicReader | undefined,
): PostriderError {
  const where = user === undefined ? 'in any partition' : `in the partitions of user ${user}`;
  const since =
    sinceMs === undefined ? 'as far back as is kept' : `since ${new Date(sinceMs).toISOString()}`;
  const hint =
    user === undefined
      ? ''
      : '; without --user, records are found too that have another key, or are from before partitions were added';
  return new PostriderError(
    'not-found',
    `there is no call ${messageId} ${where}, ${since} (${progressOf(reader)})${hint}`,
  );
}

function progressOf(reader: TopicReader | undefined): string {
  if (reader === undefined) return 'nothing looked through yet';
  const megabytes = Math.round(reader.bytes / 1e6).toLocaleString('en');
  return `${reader.records.toLocaleString('en')} records, ${megabytes} MB looked through`;
}
