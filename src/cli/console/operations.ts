import type { Operations, RunEnd, Selection } from '../../console/actions/operations.ts';
import { beginningText } from '../../dead-letter/texts.ts';
import { isSelectedDeadLetter } from '../../dead-letter/select-dead-letters.ts';
import type { DeadLetter } from '../../dead-letter/dead-letter.ts';
import { outcomeNames } from '../../delivery/outcome.ts';
import { PostriderError } from '../../errors.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../event/dead-letter-reasons.ts';
import { pause, resume } from '../commands/pause.ts';
import { testDestination } from '../commands/send-test.ts';
import type { Context } from '../context.ts';
import {
  redriveDeadLetters,
  withWaysBack,
  type DeadRedriveOptions,
} from '../letters/events-again.ts';
import type { Selection as LetterSelection } from '../letters/letters.ts';

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
        const answer = kind === 'delivered' ? undefined : outcome.answer;
        return {
          url,
          outcome: outcomeNames[kind],
          ...(status === undefined ? {} : { status }),
          ...(kind === 'delivered' ? {} : { detail: outcome.detail }),
          ...(answer === undefined ? {} : { answer: beginningText(answer) }),
          tookMs,
        };
      }),
    pause: (id) => pause(heard(context, new AbortController().signal).context, id),
    resume: async (id, { signal, onSent }) => {
      const { context: quiet, notes } = heard(context, signal);
      await resume(quiet, id, { rate, onSent });
      return endOf(notes);
    },
    redrive: async (selection, { signal, onSent }) => {
      const { context: quiet, notes, answer } = heard(context, signal);
      const options = { rate, wait: waitMs, yes: true, output: 'json', onSent } as const;
      await redriveSelected(quiet, selection, options);
      return { ...endOf(notes), ...outcomeOf(answer()) };
    },
    count: async (selection) => {
      const { context: quiet, answer } = heard(context, new AbortController().signal);
      const options = { rate, wait: 0, yes: true, dryRun: true, output: 'json' } as const;
      await redriveSelected(quiet, selection, options);
      const { wouldBeSent = [] } = answer() as { wouldBeSent?: readonly Counted[] };
      return sum(wouldBeSent);
    },
  };
}

async function redriveSelected(
  context: Context,
  selection: Selection,
  options: DeadRedriveOptions,
): Promise<void> {
  const chosen = selectionOf(selection);
  await withWaysBack(context, (ways) => redriveDeadLetters(context, ways, chosen, options));
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
  return {
    area: { sinceMs, untilMs, key: undefined },
    matches: (letter) =>
      isSelectedDeadLetter(letter, {
        destinationId: destination,
        user: undefined,
        reasons,
        messageId: undefined,
      }),
  };
}

interface Counted {
  readonly count: number;
}

function outcomeOf(answer: object): Pick<RunEnd, 'outcome'> {
  const { sent = [], soFar } = answer as {
    sent?: readonly Counted[];
    soFar?: {
      delivered: number | null;
      toBeTriedAgain: number;
      kept: number;
      givenUpAgain: readonly Counted[];
    } | null;
  };
  if (soFar === undefined || soFar === null) return {};
  const { delivered, toBeTriedAgain, kept, givenUpAgain } = soFar;
  const waiting = toBeTriedAgain + kept;
  const refused = sum(givenUpAgain);
  const other = delivered === null ? sum(sent) - waiting - refused : 0;
  return { outcome: { delivered: delivered ?? 0, refused, waiting, other } };
}

function sum(counted: readonly Counted[]): number {
  return counted.reduce((total, { count }) => total + count, 0);
}

function endOf(notes: readonly string[]): RunEnd {
  return notes.length === 0 ? {} : { detail: notes.join('. ') };
}

/** A context whose lines are kept, and which ends when the console does. */
function heard(
  given: Context,
  signal: AbortSignal,
): { readonly context: Context; readonly notes: readonly string[]; readonly answer: () => object } {
  const notes: string[] = [];
  let answer: object = {};
  const context: Context = {
    ...given,
    print: (line) => {
      if (line.startsWith('{')) answer = JSON.parse(line) as object;
    },
    note: (line) => {
      if (/left out|cannot|refuse/.test(line)) notes.push(line);
    },
    status: () => ({ clear: () => undefined, stop: () => undefined }),
    stopping: () => signal,
  };
  return { context, notes, answer: () => answer };
}
