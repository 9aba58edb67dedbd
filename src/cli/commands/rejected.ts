import { InvalidArgumentError, type Command } from 'commander';
import type { Place } from '../../dead-letter/letter.ts';
import {
  rejectedCalls,
  redriveRejected,
  countRejected,
  type RejectedRedrive,
} from '../../dead-letter/redrive-rejected.ts';
import { isSelectedCall, type RejectedCall } from '../../dead-letter/rejected.ts';
import type { Selection } from '../../dead-letter/search.ts';
import { rejectReasons } from '../../event/rejection.ts';
import { systemClock } from '../../ops/clock.ts';
import { findSource } from '../../resources/config/config-topic.ts';
import { auditedRun, selectionText } from '../audit.ts';
import type { Context } from '../context.ts';
import {
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
import { listLetters, serviceAccess, showLetter } from '../letters/letters.ts';
import { confirmAll, countWith, remediesOf, sendWith } from '../letters/redrive.ts';
import { withOutput, type OutputOptions } from '../terminal/output.ts';

interface SelectOptions extends SearchOptions {
  readonly source?: string;
  readonly reason?: ReadonlySet<string>;
}

/** `postrider rejected`: calls that could not be routed, and their way back. */
export function registerRejected(program: Command, context: Context): void {
  const rejected = program
    .command('rejected')
    .description('list, show and resend calls that could not be routed');

  withListOptions(withSelection(rejected.command('list')))
    .description('list rejected calls, oldest first')
    .action(async (options: SelectOptions & ListOptions) => {
      await listLetters(context, rejectedCalls, await selectionOf(context, options), options);
    });

  withOutput(rejected.command('show'))
    .description('show one rejected call as it was received')
    .argument('<place>', '<partition>:<offset>, as in the list', parsePlace)
    .action((place: Place, options: OutputOptions) =>
      showLetter(context, rejectedCalls, place, options),
    );

  withRedriveOptions(withSelection(rejected.command('redrive')), '500/s')
    .description(
      'send rejected calls to their ingest topic again, for example after you add a source',
    )
    .action((places: readonly Place[] | undefined, options: SelectOptions & RedriveOptions) =>
      redrive(context, places ?? [], options),
    );
}

function withSelection(command: Command): Command {
  const own = command
    .option('--source <id>', 'only calls with a write key of this source')
    .option('--reason <reasons>', 'only these reasons, separated by commas', parseReasons)
    .option('--user <id>', 'only records with this key');
  return withSearchOptions(own);
}

async function redrive(
  context: Context,
  places: readonly Place[],
  options: SelectOptions & RedriveOptions,
): Promise<void> {
  refusePlacesWithSelection(places, options);
  const access = await serviceAccess(context);
  const selection = { ...(await selectionOf(context, options)), places };
  const { noun } = rejectedCalls;
  const { again, rate } = options;
  const chosen: RejectedRedrive = {
    selection,
    // Whoever names reasons or places means them.
    alsoInvalid: options.reason !== undefined || places.length > 0,
    againMs: again,
    rate,
    remedies: {
      ...remediesOf(options),
      invalid: '--reason with their reason sends them anyway',
    },
  };
  if (options.dryRun === true) {
    await countWith(context, noun, options, (caller) => countRejected(access, chosen, caller));
    return;
  }
  const text = selectionText({ ...options }, places);
  await auditedRun(context, { action: 'redrive-rejected' }, text, async (onSent) => {
    await confirmAll(context, access, rejectedCalls, selection, options);
    const { leftOut } = await sendWith(context, noun, { ...options, onSent }, (caller) =>
      redriveRejected(access, chosen, caller),
    );
    return { leftOut: leftOut.sentences() };
  });
}

async function selectionOf(
  context: Context,
  options: SelectOptions,
): Promise<Selection<RejectedCall>> {
  const { kafka, log } = context;
  const { source: sourceId, reason: reasons, user: key } = options;
  const area = searchAreaOf(options, key);
  const access = { kafka, topology: await context.topology(), clock: systemClock, log };
  const source = sourceId === undefined ? undefined : await findSource(access, sourceId);
  const writeKeys = source === undefined ? undefined : new Set(source.writeKeys);
  return { area, matches: (call) => isSelectedCall(call, { reasons, key, writeKeys }) };
}

function parseReasons(text: string): ReadonlySet<string> {
  const reasons = text.split(',');
  if (reasons.every((reason) => Object.hasOwn(rejectReasons, reason))) return new Set(reasons);
  throw new InvalidArgumentError(`Allowed: ${Object.keys(rejectReasons).join(', ')}.`);
}
