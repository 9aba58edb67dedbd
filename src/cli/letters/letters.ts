import type { Letter, Place } from '../../dead-letter/letter.ts';
import { presentLetter, presentLetters } from '../../dead-letter/present.ts';
import {
  letterAt,
  oldestLetters,
  type LetterKind,
  type Selection,
} from '../../dead-letter/search.ts';
import type { ServiceAccess } from '../../dead-letter/service.ts';
import type { EndAgain } from '../../event/sent-again.ts';
import { systemClock } from '../../ops/clock.ts';
import { configFromTopic } from '../../resources/config/config-topic.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import type { OutputOptions } from '../terminal/output.ts';
import type { ListOptions } from './options.ts';
import { followed } from './follow.ts';

/** The means of the services of `src/dead-letter`. */
export async function serviceAccess(context: Context): Promise<ServiceAccess> {
  const topology = await context.topology();
  const { kafka, log } = context;
  return {
    kafka,
    topology,
    clock: systemClock,
    log,
    withConfig: configFromTopic({ kafka, topology, log }),
    withProducer: (use, givenUp) => withProducer(context, use, givenUp),
  };
}

/** Oldest first. */
export async function listLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  selection: Selection<L>,
  { limit, output }: ListOptions,
): Promise<void> {
  const access = await serviceAccess(context);
  const { letters, redrives, more } = await followed(context, { noun: kind.noun }, (caller) =>
    oldestLetters(access, kind, selection, limit, caller),
  );
  context.print(presentLetters(letters, redrives, output, kind.view));
  if (more) context.note(`there are more than ${limit}; select fewer or raise --limit`);
  if (letters.length === 0) context.note(`no ${kind.noun} matches`);
}

/** @param endOf finds out what became of a letter that was sent again */
export async function showLetter<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  place: Place,
  { output }: OutputOptions,
  endOf?: (letter: L) => Promise<EndAgain>,
): Promise<void> {
  const { letter, redrives } = await letterAt(await serviceAccess(context), kind, place);
  const isSentAgain = redrives.timeMsOf(letter.record) !== undefined;
  const became = isSentAgain ? await endOf?.(letter) : undefined;
  context.print(presentLetter(letter, redrives, output, kind.view, became));
}
