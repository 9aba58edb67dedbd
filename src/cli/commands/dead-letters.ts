import { InvalidArgumentError, Option, type Command } from 'commander';
import { Aftermath } from '../../dead-letter/aftermath.ts';
import { deadLetterView } from '../../dead-letter/dead-letter-view.ts';
import {
  notWhole,
  readDeadLetter,
  redriven,
  type DeadLetter,
} from '../../dead-letter/dead-letter.ts';
import { deletedSince } from '../../dead-letter/fenced.ts';
import type { Place } from '../../dead-letter/letter.ts';
import { LiveTraffic } from '../../dead-letter/live-traffic.ts';
import { lookAtTraffic } from '../../dead-letter/look-at-traffic.ts';
import { isSelected } from '../../dead-letter/select-dead-letters.ts';
import type { Objection } from '../../dead-letter/sift.ts';
import { LetterSummary } from '../../dead-letter/summary.ts';
import { WaysBack } from '../../dead-letter/ways-back.ts';
import { PostriderError } from '../../errors.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../event/dead-letter-reasons.ts';
import { deliveryKey } from '../../event/envelope.ts';
import { hintAmong } from '../../near.ts';
import { systemClock } from '../../ops/clock.ts';
import {
  followStoredResources,
  readStoredResources,
  type FollowedResources,
} from '../../resources/config/config-topic.ts';
import { startFence } from '../../resources/fence/fence-store.ts';
import type { Fence } from '../../resources/fence/fence.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { recordKey } from '../../resources/config/stored.ts';
import { nameOfDestination } from '../../resources/notice-hook.ts';
import { ofKind, type StoredResources } from '../../resources/config/stored-resources.ts';
import { aftermathData, presentAftermath } from '../letters/aftermath-text.ts';
import type { Context } from '../context.ts';
import {
  parsePause,
  parsePlace,
  refusePlacesWithSelection,
  searchAreaOf,
  withListOptions,
  withRedriveOptions,
  withSearchOptions,
  type ListOptions,
  type RedriveOptions,
  type SearchOptions,
} from '../letters/options.ts';
import {
  listLetters,
  redrivesOf,
  requireLetters,
  searchLetters,
  showLetter,
  type LetterKind,
  type Selection,
} from '../letters/letters.ts';
import { note } from '../terminal/note.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';
import { startStatusLine } from '../terminal/status-line.ts';
import { redriveLetters } from '../letters/redrive.ts';

interface SelectOptions extends SearchOptions {
  readonly destination?: string;
  readonly reason?: ReadonlySet<string>;
  readonly message?: string;
}

interface DeadRedriveOptions extends SelectOptions, RedriveOptions {
  readonly allDestinations?: true;
  /** Milliseconds. */
  readonly wait: number;
}

const deadLetters: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.deadLetter,
  read: readDeadLetter,
  view: deadLetterView,
};

/** `postrider dead-letters`: events that were given up, and their way back. */
export function registerDeadLetters(program: Command, context: Context): void {
  const command = program
    .command('dead-letters')
    .description('count, list, show and send again the events that were given up');

  withListOptions(withSelection(command.command('list')))
    .description('list dead letters, oldest first')
    .action((options: SelectOptions & ListOptions) => list(context, options));

  withOutput(withSelection(command.command('summary')))
    .description('count dead letters by day, destination and reason')
    .action((options: SelectOptions & OutputOptions) => summarize(context, options));

  withOutput(command.command('show'))
    .description("show one dead letter with its body and its endpoint's last answer")
    .argument('<place>', '<partition>:<offset>, as in the list', parsePlace)
    .action((place: Place, options: OutputOptions) =>
      showLetter(context, deadLetters, place, options),
    );

  withRedriveOptions(withSelection(command.command('redrive')), '100/s')
    .description('send dead letters to their destinations again, e.g. once an endpoint is mended')
    .option('--all-destinations', 'also to deleted and disabled ones, from where they come back')
    .addOption(
      new Option('--wait <duration>', 'how long to look what becomes of them; 0s: not at all')
        .argParser(parsePause)
        .default(10_000, '10s'),
    )
    .action((places: readonly Place[] | undefined, options: DeadRedriveOptions) =>
      redrive(context, places ?? [], options),
    );
}

function withSelection(command: Command): Command {
  const own = command
    .option('--destination <id>', 'only events for this destination')
    .option(
      '--reason <reasons>',
      'only these, separated by commas; http-4xx: all such',
      parseReasons,
    )
    .option('--user <id>', 'only events of this user')
    .option('--message <id>', 'only the event with this message id');
  return withSearchOptions(own);
}

async function list(context: Context, options: SelectOptions & ListOptions): Promise<void> {
  const selection = selectionOf(options);
  if (options.destination !== undefined)
    warnIfUnknown(options.destination, await readStoredResources(await accessOf(context)));
  await listLetters(context, deadLetters, selection, options);
}

async function summarize(context: Context, options: SelectOptions & OutputOptions): Promise<void> {
  await requireLetters(context, deadLetters);
  const redrives = await redrivesOf(context, deadLetters);
  const { signal } = new AbortController();
  const found = await searchLetters(context, deadLetters, selectionOf(options), signal);
  const status = startStatusLine(found.progress);
  const summary = new LetterSummary();
  try {
    for await (const letter of found.letters)
      summary.add(letter, redrives.of(letter) !== undefined);
  } finally {
    status.stop();
  }
  const text = (format: 'table' | 'wide'): string =>
    summary.present(format === 'wide' ? Infinity : undefined);
  context.print(present(options.output, () => summary.rows(), text));
}

async function redrive(
  context: Context,
  places: readonly Place[],
  options: DeadRedriveOptions,
): Promise<void> {
  refusePlacesWithSelection(places, options);
  const selection = { ...selectionOf(options), places };
  const access = await accessOf(context);
  const config = await followStoredResources(access);
  try {
    if (options.destination !== undefined) warnIfUnknown(options.destination, config.resources);
    await requireTopics(access.kafka, [{ name: access.topology.topics.deletions }]);
    const fence = await startFence(access);
    await redriveWith(context, config, fence, selection, options).finally(() => fence.stop());
  } finally {
    await config.stop();
  }
}

async function redriveWith(
  context: Context,
  config: FollowedResources,
  fence: Fence,
  selection: Selection<DeadLetter>,
  options: DeadRedriveOptions,
): Promise<void> {
  const topology = await context.topology();
  const { topics, groups } = topology;
  const waysBack = new WaysBack(config, topology);
  const live = new LiveTraffic({
    look: () => lookAtTraffic(context.kafka, topics.delivery, groups.delivery, systemClock),
    clock: systemClock,
    onChange: (isWaiting) => {
      note(isWaiting ? 'waiting: delivery is behind with new events' : 'going on');
    },
  });
  const aftermath =
    options.dryRun === true || options.wait === 0
      ? undefined
      : await Aftermath.begin({ kafka: context.kafka, topology, clock: systemClock });
  const isDeleted = (letter: DeadLetter): Objection | undefined => deletedSince(letter, fence);
  const task = {
    selection,
    judges:
      options.allDestinations === true
        ? [notWhole, isDeleted]
        : [notWhole, isDeleted, (letter: DeadLetter) => waysBack.objection(letter)],
    sentAgain: (letter: DeadLetter) => {
      const wayBack = waysBack.of(letter);
      aftermath?.sentTo(wayBack.topic);
      return redriven(letter, wayBack, systemClock.now());
    },
    live,
    afterwards: async (sent: number, signal: AbortSignal) => {
      if (aftermath === undefined) return undefined;
      await aftermath.wait(options.wait, signal).catch((error: unknown) => {
        // They are sent, whether or not that can be seen.
        if (!(error instanceof PostriderError)) throw error;
        note(`not all that became of them can be seen: ${error.message}`);
      });
      return { data: aftermathData(aftermath, sent), lines: presentAftermath(aftermath, sent) };
    },
  };
  await redriveLetters(context, deadLetters, task, options);
}

function selectionOf(options: SelectOptions): Selection<DeadLetter> {
  const { destination: destinationId, user, reason: reasons, message: messageId } = options;
  const isKeyKnown = destinationId !== undefined && user !== undefined;
  const key = isKeyKnown ? deliveryKey(destinationId, user) : undefined;
  return {
    area: searchAreaOf(options, key),
    matches: (letter) => isSelected(letter, { destinationId, user, reasons, messageId }),
  };
}

/** No error: letters of deleted destinations are there to be seen. */
function warnIfUnknown(id: string, resources: StoredResources): void {
  if (resources.has(recordKey(nameOfDestination(id)))) return;
  const known = ofKind(resources, 'Destination').map(({ name }) => name.id);
  const others = known.length === 0 ? '; there are none' : hintAmong(id, known, 'known are');
  note(`there is no destination ${id} now${others}`);
}

async function accessOf(context: Context): Promise<Parameters<typeof readStoredResources>[0]> {
  const { kafka, log } = context;
  return { kafka, topology: await context.topology(), log };
}

function parseReasons(text: string): ReadonlySet<string> {
  const reasons = text.split(',');
  if (reasons.every(isDeadLetterReason)) return new Set(reasons);
  const allowed = `${deadLetterReasons.join(', ')}, http-<status>, http-4xx`;
  throw new InvalidArgumentError(`Allowed: ${allowed}.`);
}
