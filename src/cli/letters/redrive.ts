import type { Aftermath } from '../../dead-letter/aftermath.ts';
import type { Letter } from '../../dead-letter/letter.ts';
import { keptRecords, type LetterKind, type Selection } from '../../dead-letter/search.ts';
import type { SendResult } from '../../dead-letter/send-letters.ts';
import type { Caller, Remedies, Sent, ServiceAccess } from '../../dead-letter/service.ts';
import { counted } from '../../printable.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/terminal.ts';
import { isForPrograms, present } from '../terminal/output.ts';
import { followed, printing } from './follow.ts';
import { isSelecting, type RedriveOptions } from './options.ts';

/** Asks first if no option selects any letters. */
export async function confirmAll<L extends Letter>(
  context: Context,
  access: ServiceAccess,
  kind: LetterKind<L>,
  { places = [] }: Pick<Selection<L>, 'places'>,
  options: RedriveOptions,
): Promise<void> {
  const isForAll = !isSelecting(options) && places.length === 0;
  if (!isForAll || options.dryRun === true || options.yes === true) return;
  await confirm(
    context.terminal,
    `this sends all ${counted(await keptRecords(access, kind), kind.noun)} again, except those that were sent before`,
    'select with options or places, or add --yes',
  );
}

/** Counts letters, and prints the answer. */
export async function countWith(
  context: Context,
  noun: string,
  options: RedriveOptions,
  count: (caller: Caller) => Promise<Sent>,
): Promise<void> {
  const { counts } = await followed(context, { noun, ...printing(context, options) }, count);
  answer(context, options, { dryRun: true, wouldBeSent: counts.rows() });
}

/**
 * Sends letters again, and prints the answer, also where not all could be sent.
 * @throws PostriderError
 */
export async function sendWith<
  R extends SendResult & { readonly aftermath?: Aftermath | undefined },
>(
  context: Context,
  noun: string,
  options: RedriveOptions & { readonly onSent: () => void },
  send: (caller: Caller) => Promise<R>,
): Promise<R> {
  const goOn = options.again === undefined ? undefined : remediesOf(options).goOn;
  const shown = {
    noun,
    onSent: options.onSent,
    isSending: true,
    before: goOn && `if this is interrupted, ${goOn}`,
    ...printing(context, options),
  };
  const result = await followed(context, shown, send);
  const { id, counts, failure, aftermath } = result;
  if (aftermath !== undefined && !isForPrograms(options))
    for (const line of presentAftermath(aftermath, counts.total)) context.print(line);
  const soFar = aftermath === undefined ? null : aftermathData(aftermath, counts.total);
  answer(context, options, { redrive: id, sent: counts.rows(), soFar });
  if (failure !== undefined) throw failure;
  return result;
}

/** The options of the commands that send letters again. */
export function remediesOf({ again }: Pick<RedriveOptions, 'again'>): Remedies {
  return {
    again: '--again sends them too',
    unreachable: '--all-destinations sends them too',
    earlier: '--earlier sends them to the one that has it now',
    goOn:
      again === undefined
        ? 'the same command continues where this one stopped'
        : `--again=${new Date(again).toISOString()} continues where this one stopped`,
  };
}

/** For programs: all at once. */
function answer(context: Context, options: RedriveOptions, data: object): void {
  if (!isForPrograms(options)) return;
  context.print(
    present(
      options.output,
      () => data,
      () => '',
    ),
  );
}

/** The result of sending events again, for programs. */
function aftermathData(aftermath: Aftermath, sent: number): object {
  const { beganMs, counts, retried, kept } = aftermath;
  return {
    since: new Date(beganMs).toISOString(),
    delivered: aftermath.isRestDelivered ? aftermath.restOf(sent) : null,
    toBeTriedAgain: retried,
    kept,
    givenUpAgain: counts.rows(),
  };
}

/** For people. */
function presentAftermath(aftermath: Aftermath, sent: number): string[] {
  const { beganMs, counts, retried, kept, isFinished, hasBundles } = aftermath;
  const rest = aftermath.restOf(sent);
  const done = hasBundles ? 'delivered or put off' : 'delivered';
  const said = [
    `${rest} ${isFinished ? done : 'delivered or still on their way'}`,
    `${retried} waiting for a retry`,
    ...(kept === 0 ? [] : [`${kept} kept for a paused destination`]),
    `${counts.total} dead letters again`,
  ];
  const sentence = `result so far: ${said.join(', ')}`;
  if (counts.total === 0) return [sentence];
  const since = new Date(beganMs).toISOString();
  return [`${sentence}; dead-letters list --since ${since} shows these`, counts.present('event')];
}
