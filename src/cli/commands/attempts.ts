import { InvalidArgumentError, Option, type Command } from 'commander';
import { describeLine } from '../../attempts/describe.ts';
import { AttemptReader, NewestLines, type AttemptSelection } from '../../attempts/read-attempts.ts';
import { hintAt } from '../../near.ts';
import { printableJson } from '../../printable.ts';
import { parseDuration } from '../../duration.ts';
import type { AttemptLine } from '../../event/attempt-line.ts';
import { systemClock } from '../../ops/clock.ts';
import { waitUnlessAborted } from '../../ops/wait.ts';
import type { OutputFormat } from '../../resources/present.ts';
import { formatTable } from '../../resources/table.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { ConfiguredDestinations } from '../../status/configured.ts';
import type { Context } from '../context.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly failed?: true;
  readonly message?: string;
  readonly user?: string;
  readonly since: number;
  readonly limit: number;
  readonly follow?: true;
}

const againMs = 1_000;

/** `postrider attempts`: what has happened to events lately. */
export function registerAttempts(program: Command, context: Context): void {
  withOutput(program.command('attempts'))
    .description('show what happened to events on their way: attempts, delays, dead letters')
    .argument('[destination]', 'only events for this destination')
    .option('--failed', 'leave out attempts that succeeded')
    .option('--message <id>', 'only the event with this message id')
    .option(
      '--user <id>',
      'only events of this user; with a destination, this reads one partition only',
    )
    .addOption(
      new Option('--since <duration>', 'how far to look back, for example 10m or 3d')
        .argParser(duration)
        .default(600_000, '10m'),
    )
    .option('--limit <n>', 'show at most this many lines, the newest ones', count, 100)
    .option('--follow', 'keep printing new lines; Ctrl-C ends it')
    .action((destination: string | undefined, options: Options) =>
      attempts(context, destination, options),
    );
}

async function attempts(
  context: Context,
  destination: string | undefined,
  options: Options,
): Promise<void> {
  const { failed, message: messageId, user, since, limit, follow, output } = options;
  const { topics } = await context.topology();
  await requireTopics(context.kafka, [{ name: topics.attempts }]);
  const selection: AttemptSelection = { destination, messageId, user, failed };
  const reader = new AttemptReader(context.kafka, topics.attempts, selection);
  const sinceMs = systemClock.now() - since;
  const stopping = follow === true ? context.stopping() : undefined;
  let isFirst = true;
  do {
    const newest = new NewestLines(limit);
    for await (const line of reader.read(sinceMs)) newest.add(line);
    const lines = newest.sorted();
    if (newest.seen > lines.length)
      context.note(`the newest ${lines.length} of ${newest.seen} lines`);
    if (isFirst && lines.length === 0) await sayNothing(context, destination, sinceMs);
    if (lines.length > 0) context.print(textOf(lines, output, isFirst));
    isFirst &&= lines.length === 0;
    if (stopping !== undefined) await waitUnlessAborted(againMs, stopping);
  } while (stopping?.aborted === false);
}

/** No error: lines of deleted destinations are there to be seen, and with `--follow` some may come. */
async function sayNothing(
  context: Context,
  destination: string | undefined,
  sinceMs: number,
): Promise<void> {
  const since = new Date(sinceMs).toISOString();
  context.note(`no line matches since ${since}; use --since to look further back`);
  if (destination === undefined) return;
  const { topics } = await context.topology();
  const configured = await ConfiguredDestinations.read(context.kafka, topics.config);
  if (configured.has(destination)) return;
  context.note(
    `there is no destination ${destination} now${hintAt(destination, configured.ids())}`,
  );
}

/** JSON is a line each, because with `--follow` there is no end. */
function textOf(lines: readonly AttemptLine[], output: OutputFormat, withHeader: boolean): string {
  if (output === 'json') return lines.map((line) => printableJson(line, 0)).join('\n');
  return present(
    output,
    () => lines,
    (format) => {
      const table = tableOf(lines, format);
      return withHeader ? table : table.split('\n').slice(1).join('\n');
    },
  );
}

function tableOf(lines: readonly AttemptLine[], format: 'table' | 'wide'): string {
  const isWide = format === 'wide';
  const rows = lines.map((line) => {
    const [messageId, user] = line.kind === 'bundle-deferred' ? [] : [line.messageId, line.user];
    const url = line.kind === 'attempt' ? line.url : '';
    const own = [line.at, line.destination, messageId ?? ''];
    const cells = isWide ? [...own, user ?? '', url] : own;
    return [...cells, describeLine(line)];
  });
  const more = isWide ? ['USER', 'URL'] : [];
  const head = ['TIME', 'DESTINATION', 'MESSAGE', ...more, 'WHAT'];
  return formatTable(head, rows, isWide ? Infinity : undefined);
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('It is a duration such as 10m, 4h or 3d.');
  return ms;
}

function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number from 1 to 999999.');
}
