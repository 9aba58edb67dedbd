import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { placeOf, type Letter } from '../dead-letter/letter.ts';
import {
  letterFormats,
  presentCounts,
  presentLetter,
  presentLetters,
  type LetterFormat,
} from '../dead-letter/present.ts';
import { readLetter } from '../dead-letter/read-letters.ts';
import { notRedriven, redrive } from '../dead-letter/redrive.ts';
import { loadRedrives, type Redrives } from '../dead-letter/redrives.ts';
import { readRejected, sentAgain } from '../dead-letter/rejected.ts';
import { selectRejected, worthSending } from '../dead-letter/select-rejected.ts';
import { PostriderError } from '../errors.ts';
import { rejectReasons } from '../event/rejection.ts';
import { createProducer } from '../kafka/producer.ts';
import { systemClock } from '../ops/clock.ts';
import { shutdownSignal } from '../ops/shutdown.ts';
import { findSource } from '../resources/find-source.ts';
import type { Topology } from '../topology.ts';
import type { Context } from './context.ts';
import { counted } from './counted.ts';
import { parseLimit, parsePace, parsePlace, parseTime, type Place } from './letter-options.ts';
import { note } from './note.ts';
import { startStatusLine } from './status-line.ts';

interface SelectOptions {
  readonly source?: string;
  readonly reason?: ReadonlySet<string>;
  readonly user?: string;
  readonly since?: number;
  readonly until?: number;
}

interface ListOptions extends SelectOptions {
  readonly output: LetterFormat;
  readonly limit: number;
}

interface RedriveOptions extends SelectOptions {
  readonly rate: number;
  readonly dryRun?: true;
  readonly again?: true;
}

const closeMs = 30_000;

/** `postrider rejected`: calls that could not be routed, and their way back. */
export function registerRejected(program: Command, context: Context): void {
  const rejected = program
    .command('rejected')
    .description('list, show and send again the calls that could not be routed');

  withSelection(rejected.command('list').description('list rejected calls, oldest first'))
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(letterFormats).default('table'),
    )
    .option('--limit <count>', 'at most so many', parseLimit, 1_000)
    .action((options: ListOptions) => list(context, options));

  rejected
    .command('show')
    .description('show one rejected call as it was received')
    .argument('<place>', '<partition>:<offset>, as in the list', parsePlace)
    .action((place: Place) => show(context, place));

  withSelection(
    rejected
      .command('redrive')
      .description(
        'send rejected calls to their ingest topic again, e.g. once their source exists; ' +
          'those whose own content was refused only where --reason names it',
      ),
  )
    .addOption(new Option('--rate <rate>', 'how fast').argParser(parsePace).default(500, '500/s'))
    .option('--dry-run', 'only count what would be sent')
    .option('--again', 'also those that were sent again before')
    .action((options: RedriveOptions) => redriveRejected(context, options));
}

function withSelection(command: Command): Command {
  return command
    .option('--source <id>', 'only calls with a write key of this source')
    .option('--reason <reasons>', 'only these, separated by commas', parseReasons)
    .option('--user <id>', 'only records with this key')
    .option('--since <time>', 'rejected at this time or later: 2h (ago) or ISO 8601', parseTime)
    .option('--until <time>', 'rejected before this time', parseTime);
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const topology = await context.topology();
  const redrives = await redrivesOf(context, topology);
  const letters: Letter[] = [];
  let more = false;
  for await (const letter of await select(context, topology, options)) {
    more = letters.length === options.limit;
    if (more) break;
    letters.push(letter);
  }
  letters.sort((a, b) => a.record.timestampMs - b.record.timestampMs);
  context.print(presentLetters(letters, redrives, options.output));
  if (more) note(`there are more than ${options.limit}; select fewer or raise --limit`);
}

async function show(context: Context, { partition, offset }: Place): Promise<void> {
  const { kafka } = context;
  const topology = await context.topology();
  const record = await readLetter(kafka, topology.topics.ingestRejected, partition, offset);
  const redrives = await redrivesOf(context, topology);
  context.print(presentLetter(readRejected(record), redrives));
}

async function redriveRejected(context: Context, options: RedriveOptions): Promise<void> {
  const topology = await context.topology();
  const already = options.again === true ? new Map() : await redrivesOf(context, topology);
  let skipped = 0;
  const notSkipped = notRedriven(await select(context, topology, options), already, () => {
    skipped += 1;
  });
  const left = new Map<string, number>();
  // Whoever names reasons means them.
  const letters =
    options.reason === undefined
      ? worthSending(notSkipped, ({ reason }) => left.set(reason, (left.get(reason) ?? 0) + 1))
      : notSkipped;
  if (options.dryRun === true) await count(context, letters);
  else await send(context, topology, letters, options.rate);
  if (skipped > 0)
    note(`${counted(skipped, 'call')} left out, sent again before; --again takes them too`);
  if (left.size > 0) note(leftNote(left));
}

function leftNote(left: ReadonlyMap<string, number>): string {
  const reasons = [...left.keys()];
  const each = reasons.map((reason) => `${left.get(reason) ?? 0} ${reason}`).join(', ');
  return (
    `${counted(total(left), 'call')} left out, because the same bytes are always rejected again: ${each}; ` +
    `--reason ${reasons.join(',')} sends them all the same`
  );
}

async function count(context: Context, letters: AsyncIterable<Letter>): Promise<void> {
  const counts = new Map<string, number>();
  const status = startStatusLine(() => `${total(counts)} counted`);
  for await (const { reason } of letters) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  status.stop();
  context.print(presentCounts(counts));
}

async function send(
  context: Context,
  topology: Topology,
  letters: AsyncIterable<Letter>,
  rate: number,
): Promise<void> {
  const { kafka, log } = context;
  const sent = new Map<string, number>();
  const id = randomBytes(4).toString('hex');
  const stop = new AbortController();
  void shutdownSignal().then(() => {
    stop.abort();
  });
  let refused = 0;
  const producer = await createProducer(kafka, { log });
  const status = startStatusLine(() => `${total(sent)} sent again`);
  try {
    await redrive({
      letters,
      sentAgain: (letter) => sentAgain(letter, topology),
      producer,
      clock: systemClock,
      redrivesTopic: topology.topics.redrives,
      rate,
      id,
      signal: stop.signal,
      onSent: ({ reason }) => sent.set(reason, (sent.get(reason) ?? 0) + 1),
      onRefused: (letter, error) => {
        refused += 1;
        note(`${placeOf(letter)} cannot be sent again: ${error.message}`);
      },
    });
  } finally {
    status.stop();
    await producer.close(closeMs);
  }
  context.print(presentCounts(sent));
  context.print(`${counted(total(sent), 'call')} sent again, in redrive ${id}`);
  if (stop.signal.aborted)
    throw new PostriderError('stopped', 'stopped early; the same command goes on where it ended');
  if (refused > 0)
    throw new PostriderError(
      'record-refused',
      `Kafka refused ${counted(refused, 'call')}, named above`,
    );
}

async function select(
  context: Context,
  topology: Topology,
  options: SelectOptions,
): Promise<AsyncGenerator<Letter, void, undefined>> {
  const { kafka, log } = context;
  const access = { kafka, topology, clock: systemClock, log };
  const source =
    options.source === undefined ? undefined : await findSource(access, options.source);
  return selectRejected(kafka, topology, {
    reasons: options.reason,
    key: options.user,
    writeKeys: source === undefined ? undefined : new Set(source.writeKeys),
    sinceMs: options.since,
    untilMs: options.until,
  });
}

async function redrivesOf({ kafka }: Context, { topics }: Topology): Promise<Redrives> {
  return loadRedrives(kafka, topics.redrives, topics.ingestRejected);
}

function parseReasons(text: string): ReadonlySet<string> {
  const reasons = text.split(',');
  if (reasons.every((reason) => Object.hasOwn(rejectReasons, reason))) return new Set(reasons);
  throw new InvalidArgumentError(`Allowed: ${Object.keys(rejectReasons).join(', ')}.`);
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, n) => sum + n, 0);
}
