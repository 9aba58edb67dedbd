import type { Operations, RunEnd, Selection, Work } from '../../console/actions/operations.ts';
import { isSelectedDeadLetter } from '../../dead-letter/select-dead-letters.ts';
import type { DeadLetter } from '../../dead-letter/dead-letter.ts';
import { bodyText } from '../../delivery/kept-answer.ts';
import { outcomeNames } from '../../delivery/outcome.ts';
import { PostriderError } from '../../errors.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../event/dead-letter-reasons.ts';
import { pause } from '../commands/pause.ts';
import { resume } from '../commands/resume.ts';
import { testDestination } from '../commands/send-test.ts';
import type { Context } from '../context.ts';
import {
  outcomeOf,
  redriveDeadLetters,
  withWaysBack,
  type DeadRedriveOptions,
} from '../letters/events-again.ts';
import type { Selection as LetterSelection } from '../letters/letters.ts';
import { withoutPrinting } from '../terminal/output.ts';

/** Live traffic goes first in any case. */
const rate = 100;
/** How long to look what becomes of what was sent. */
const waitMs = 30_000;

/** What the console's operators can have done is what the commands of the same names do. */
export function consoleOperations(context: Context): Operations {
  return {
    sendTest: async (id) =>
      (await testDestination(context, id)).map(({ publicUrl: url, outcome, tookMs }) => {
        const { kind, status } = outcome;
        const kept = kind === 'delivered' ? undefined : outcome.answer;
        const answer = kept === undefined ? undefined : bodyText(kept);
        return {
          url,
          outcome: outcomeNames[kind],
          ...(status === undefined ? {} : { status }),
          ...(kind === 'delivered' ? {} : { detail: outcome.detail }),
          ...(answer === undefined ? {} : { answer }),
          tookMs,
        };
      }),
    pause: async (id) => {
      await pause(silent(context), id);
    },
    resume:
      (id) =>
      async ({ signal, onSent }) =>
        detailOf((await resume(silent(context, signal), [id], { rate, onSent })).leftOut),
    redrive: (selection) => redriveSelected(context, selection, { wait: waitMs }),
    count: (selection) => redriveSelected(context, selection, { wait: 0, dryRun: true }),
  };
}

function redriveSelected(
  context: Context,
  selection: Selection,
  how: Pick<DeadRedriveOptions, 'wait' | 'dryRun'>,
): Work {
  const chosen = selectionOf(selection);
  const { destination } = selection;
  const only = destination === undefined ? {} : { destination: new Set([destination]) };
  return async ({ signal, onSent }) => {
    const options = { ...how, ...only, rate, yes: true, output: 'table', onSent } as const;
    const quiet = silent(context, signal);
    const result = await withWaysBack(quiet, (ways) =>
      redriveDeadLetters(quiet, ways, chosen, options),
    );
    const outcome = outcomeOf(result);
    return { ...detailOf(result.leftOut), ...(outcome === undefined ? {} : { outcome }) };
  };
}

/** @throws PostriderError `usage` */
function selectionOf({
  destination,
  reason,
  since,
  until,
}: Selection): LetterSelection<DeadLetter> {
  if (reason !== undefined && !isDeadLetterReason(reason)) {
    const allowed = `${Object.keys(deadLetterReasons).join(', ')}, http-<status>, http-4xx`;
    throw new PostriderError('usage', `${reason} is not a reason; allowed: ${allowed}`);
  }
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  const untilMs = until === undefined ? undefined : Date.parse(until);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new PostriderError('usage', 'since must be earlier than until');
  const reasons = reason === undefined ? undefined : new Set([reason]);
  const destinations = destination === undefined ? undefined : new Set([destination]);
  return {
    area: { sinceMs, untilMs, key: undefined },
    matches: (letter) =>
      isSelectedDeadLetter(letter, {
        destinations,
        user: undefined,
        reasons,
        messageId: undefined,
      }),
  };
}

/** What a command says of its options is said of the command, because the console has none. */
function detailOf(sentences: readonly string[]): Pick<RunEnd, 'detail'> {
  const told = sentences.map((sentence) =>
    sentence.replaceAll(/(?<=^|\s)--(?=[a-z])/g, 'postrider dead-letters redrive --'),
  );
  return told.length === 0 ? {} : { detail: told.join('. ') };
}

/** A command's context without a terminal. It ends when the signal says so, and not by a signal to the process. */
function silent(context: Context, signal: AbortSignal = AbortSignal.any([])): Context {
  return {
    ...withoutPrinting(context),
    note: nothing,
    status: () => ({ clear: nothing, stop: nothing }),
    stopping: () => signal,
  };
}

function nothing(): void {
  return undefined;
}
