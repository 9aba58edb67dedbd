import { InvalidArgumentError, type Command } from 'commander';
import type { Place } from '../../dead-letter/letter.ts';
import { rejectedView } from '../../dead-letter/rejected-view.ts';
import { readRejected, sentAgain, type RejectedCall } from '../../dead-letter/rejected.ts';
import { isSelectedCall, notMendable } from '../../dead-letter/select-rejected.ts';
import { rejectReasons } from '../../event/rejection.ts';
import { systemClock } from '../../ops/clock.ts';
import { findSource } from '../../resources/find-source.ts';
import { auditedRun, selectionText } from '../audit.ts';
import type { Context } from '../context.ts';
import {
  againSendsThem,
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
import { listLetters, showLetter, type LetterKind, type Selection } from '../letters/letters.ts';
import { withOutput, type OutputOptions } from '../terminal/output.ts';
import { redriveLetters } from '../letters/redrive.ts';

interface SelectOptions extends SearchOptions {
  readonly source?: string;
  readonly reason?: ReadonlySet<string>;
}

const rejectedCalls: LetterKind<RejectedCall> = {
  noun: 'call',
  topicOf: ({ topics }) => topics.ingestRejected,
  read: readRejected,
  view: rejectedView,
  sendsTwice: againSendsThem,
};

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
  const topology = await context.topology();
  // Whoever names reasons or places means them.
  const isNamed = options.reason !== undefined || places.length > 0;
  const task = {
    selection: { ...(await selectionOf(context, options)), places },
    judges: isNamed ? [] : [notMendable],
    sentAgain: (call: RejectedCall) => sentAgain(call, topology),
  };
  if (options.dryRun === true) {
    await redriveLetters(context, rejectedCalls, task, options);
    return;
  }
  const chosen = selectionText({ ...options }, places);
  await auditedRun(context, { action: 'redrive-rejected' }, chosen, (onSent) =>
    redriveLetters(context, rejectedCalls, { ...task, onSent }, options),
  );
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
