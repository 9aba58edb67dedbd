import { InvalidArgumentError, Option, type Command } from 'commander';
import { AttemptReader } from '../../attempts/read-attempts.ts';
import { isSelectedDeadLetter, type DeadLetter } from '../../dead-letter/dead-letter.ts';
import type { Place } from '../../dead-letter/letter.ts';
import { lettersOfCustomer } from '../../dead-letter/of-customer.ts';
import {
  countDeadLetters,
  deadLetters,
  outcomeOf,
  redriveDeadLetters,
  withWaysBack,
  type DeadRedrive,
} from '../../dead-letter/redrive-dead-letters.ts';
import { requireLetters, searchLetters, type Selection } from '../../dead-letter/search.ts';
import { LetterSummary } from '../../dead-letter/summary.ts';
import { PostriderError } from '../../errors.ts';
import { ofDestinations } from '../../event/audit-entry.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../event/dead-letter-reasons.ts';
import { deliveryKey } from '../../event/envelope.ts';
import { againLineOf, endAgain, type AgainLine, type EndAgain } from '../../event/sent-again.ts';
import { writable } from '../../event/sought.ts';
import { hintAmong } from '../../near.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { recordKey } from '../../resources/config/stored.ts';
import { ofKind, type StoredResources } from '../../resources/config/stored-resources.ts';
import { nameOfDestination } from '../../resources/notice-hook.ts';
import { auditedRun, selectionText } from '../audit.ts';
import type { Context } from '../context.ts';
import { followed } from '../letters/follow.ts';
import { listLetters, serviceAccess, showLetter } from '../letters/letters.ts';
import {
  parseCustomer,
  parseIds,
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
import { confirmAll, countWith, remediesOf, sendWith } from '../letters/redrive.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** The most by which clocks of workers may be apart from those of brokers. */
const clocksApartMs = 600_000;

interface SelectOptions extends SearchOptions {
  readonly destination?: ReadonlySet<string>;
  readonly customer?: string;
  readonly reason?: ReadonlySet<string>;
  readonly message?: string;
}

interface DeadRedriveOptions extends RedriveOptions {
  readonly allDestinations?: true;
  readonly earlier?: true;
  /** The time to look what becomes of them, in milliseconds. */
  readonly wait: number;
}

/** `postrider dead-letters`: events that were given up, and their way back. */
export function registerDeadLetters(program: Command, context: Context): void {
  const command = program
    .command('dead-letters')
    .description('count, list, show and resend events that were given up');

  withListOptions(withSelection(command.command('list')))
    .description('list dead letters, oldest first')
    .action((options: SelectOptions & ListOptions) => list(context, options));

  withOutput(withSelection(command.command('summary')))
    .description('count dead letters by day, destination and reason')
    .action((options: SelectOptions & OutputOptions) => summarize(context, options));

  withOutput(command.command('show'))
    .description('show one dead letter with its body and the last answer of its endpoint')
    .argument('<place>', '<partition>:<offset>, as in the list', parsePlace)
    .action((place: Place, options: OutputOptions) =>
      showLetter(context, deadLetters, place, options, (letter) => endOf(context, letter)),
    );

  withRedriveOptions(withSelection(command.command('redrive')), '100/s')
    .description(
      'send dead letters to their destinations again, for example after an endpoint is fixed',
    )
    .option(
      '--all-destinations',
      'also send to deleted and disabled destinations; these events become dead letters again',
    )
    .option(
      '--earlier',
      'also events of deleted destinations whose ids are used again, to the present ones; needs --destination',
    )
    .addOption(
      new Option('--wait <duration>', 'how long to wait for the outcome; 0s: not at all')
        .argParser(parsePause)
        .default(10_000, '10s'),
    )
    .action((places: readonly Place[] | undefined, options: SelectOptions & DeadRedriveOptions) =>
      redrive(context, places ?? [], options),
    );
}

function withSelection(command: Command): Command {
  const own = command
    .option(
      '--destination <ids>',
      'only events for these destinations, separated by commas',
      parseIds,
    )
    .option(
      '--customer <id>',
      'only events for the destinations that this customer has now',
      parseCustomer,
    )
    .option(
      '--reason <reasons>',
      'only these reasons, separated by commas; http-4xx names a class',
      parseReasons,
    )
    .option('--user <id>', 'only events of this user')
    .option('--message <id>', 'only the event with this message id');
  return withSearchOptions(own);
}

/** Reads in `attempts` how an event ended that was sent again. */
async function endOf(context: Context, letter: DeadLetter): Promise<EndAgain> {
  const { destinationId: destination, user, envelope, record } = letter;
  if (envelope === undefined) return 'unknown';
  const { messageId, redrivenMs } = envelope;
  const { topics } = await context.topology();
  const reader = new AttemptReader(context.kafka, topics.attempts, {
    destination,
    messageId,
    user,
  });
  const lines: AgainLine[] = [];
  try {
    for await (const line of reader.read(record.timestampMs - clocksApartMs)) {
      const again = againLineOf(line);
      if (again !== undefined) lines.push(again);
    }
  } catch (error) {
    // Without the topic, or a right to read it, the letter can still be shown.
    if (!(error instanceof PostriderError)) throw error;
    context.note(`what became of it cannot be read: ${error.message}`);
  }
  return endAgain(lines, redrivenMs === undefined ? '' : new Date(redrivenMs).toISOString());
}

async function list(context: Context, options: SelectOptions & ListOptions): Promise<void> {
  await listLetters(context, deadLetters, await selectionNow(context, options), options);
}

async function summarize(context: Context, options: SelectOptions & OutputOptions): Promise<void> {
  const access = await serviceAccess(context);
  await requireLetters(access, deadLetters);
  const selection = await selectionNow(context, options);
  const summary = new LetterSummary();
  await followed(context, { noun: deadLetters.noun }, async (caller) => {
    const found = await searchLetters(access, deadLetters, selection, caller);
    for await (const letter of found.letters)
      summary.add(letter, found.redrives.timeMsOf(letter.record) !== undefined);
  });
  const text = (format: 'table' | 'wide'): string =>
    summary.present(format === 'wide' ? Infinity : undefined);
  context.print(present(options.output, () => summary.rows(), text));
}

async function redrive(
  context: Context,
  places: readonly Place[],
  options: SelectOptions & DeadRedriveOptions,
): Promise<void> {
  refusePlacesWithSelection(places, options);
  if (options.earlier === true && options.destination === undefined)
    throw new PostriderError('usage', '--earlier needs --destination: name whose events are sent');
  refuseContradictions(options);
  const { allDestinations, earlier, again, rate, wait, dryRun } = options;
  const { noun } = deadLetters;
  const access = await serviceAccess(context);
  await withWaysBack(access, async (ways) => {
    const { destinations, ...selected } = selectionOf(context, options, ways.config.resources);
    const selection = { ...selected, places };
    const chosen: DeadRedrive = {
      selection,
      destinations,
      named: options.destination,
      allDestinations,
      earlier,
      againMs: again,
      rate,
      waitMs: wait,
      remedies: remediesOf(options),
    };
    if (dryRun === true) {
      await countWith(context, noun, options, (caller) =>
        countDeadLetters(access, ways, chosen, caller),
      );
      return;
    }
    const { customer } = options;
    const whose = customer === undefined ? {} : { customer };
    const done = { action: 'redrive', ...whose, ...ofDestinations(destinations) } as const;
    const text = selectionText({ ...options }, places);
    await auditedRun(context, done, text, async (onSent) => {
      await confirmAll(context, access, deadLetters, selection, options);
      const result = await sendWith(context, noun, { ...options, onSent }, (caller) =>
        redriveDeadLetters(access, ways, chosen, caller),
      );
      return { leftOut: result.leftOut.sentences(), became: outcomeOf(result) };
    });
  });
}

/** The selection by the configuration as it is now, which is read only if the options name any of it. */
async function selectionNow(
  context: Context,
  options: SelectOptions,
): Promise<Selection<DeadLetter>> {
  refuseContradictions(options);
  const isRead = options.destination !== undefined || options.customer !== undefined;
  const resources = isRead ? await readStoredResources(await serviceAccess(context)) : new Map();
  return selectionOf(context, options, resources);
}

/**
 * Refuses options that contradict each other, before Kafka is asked for anything.
 * @throws PostriderError `usage`
 */
function refuseContradictions(options: SelectOptions): void {
  if (options.destination !== undefined && options.customer !== undefined)
    throw new PostriderError('usage', 'give either --destination or --customer, not both');
  searchAreaOf(options, undefined);
}

/** @throws PostriderError `not-found` for a customer without destinations */
function selectionOf(
  context: Context,
  options: SelectOptions,
  resources: StoredResources,
): Selection<DeadLetter> & Pick<DeadRedrive, 'destinations'> {
  const { destination: named, customer, user, reason: reasons, message: messageId } = options;
  if (named !== undefined) warnIfUnknown(context, named, resources);
  const own = customer === undefined ? undefined : lettersOfCustomer(resources, customer);
  const destinations = own?.destinations ?? named;
  const [only] = destinations?.size === 1 ? destinations : [];
  const isKeyKnown = only !== undefined && user !== undefined;
  const key = isKeyKnown ? deliveryKey(only, writable(user)) : undefined;
  return {
    destinations,
    area: searchAreaOf(options, key),
    matches: (letter) =>
      isSelectedDeadLetter(letter, { destinations, user, reasons, messageId }) &&
      own?.has(letter) !== false,
  };
}

/** No error: letters of deleted destinations are there to be seen. */
function warnIfUnknown(
  context: Context,
  ids: ReadonlySet<string>,
  resources: StoredResources,
): void {
  const known = ofKind(resources, 'Destination').map(({ name }) => name.id);
  for (const id of ids) {
    if (resources.has(recordKey(nameOfDestination(id)))) continue;
    const others = known.length === 0 ? '; there are none' : hintAmong(id, known, 'known are');
    context.note(`there is no destination ${id} now${others}`);
  }
}

function parseReasons(text: string): ReadonlySet<string> {
  const reasons = text.split(',');
  if (reasons.every(isDeadLetterReason)) return new Set(reasons);
  const allowed = `${Object.keys(deadLetterReasons).join(', ')}, http-<status>, http-4xx`;
  throw new InvalidArgumentError(`Allowed: ${allowed}.`);
}
