import { randomBytes } from 'node:crypto';
import { placeText, type Letter } from '../dead-letter/letter.ts';
import { LetterCounts } from '../dead-letter/present.ts';
import { redrive } from '../dead-letter/redrive.ts';
import { sentBefore, sift, type Judge } from '../dead-letter/sift.ts';
import { PostriderError } from '../errors.ts';
import { createProducer } from '../kafka/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { systemClock } from '../ops/clock.ts';
import { shutdownSignal } from '../ops/shutdown.ts';
import type { Context } from './context.ts';
import { counted } from './counted.ts';
import { LeftOut } from './left-out.ts';
import type { RedriveOptions } from './letter-options.ts';
import {
  redrivesOf,
  searchLetters,
  type LetterKind,
  type Search,
  type Selection,
} from './letters.ts';
import { note } from './note.ts';
import { startStatusLine } from './status-line.ts';

export interface RedriveTask<L extends Letter> {
  readonly selection: Selection<L>;
  /** Besides what was sent again before. */
  readonly judges: readonly Judge<L>[];
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: L) => OutgoingRecord;
}

const closeMs = 30_000;

/** Sends letters again, or counts them. */
export async function redriveLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
): Promise<void> {
  const stop = new AbortController();
  const goOn = goOnWith(options);
  if (goOn !== undefined && options.dryRun !== true) note(`if this is cut off, ${goOn} goes on`);
  const leftOut = new LeftOut(kind.noun);
  const counts = new LetterCounts(kind.view);
  const redrives = await redrivesOf(context, kind);
  const search = await searchLetters(context, kind, task.selection, stop.signal);
  const judges = [sentBefore(redrives, options.again), ...task.judges];
  const letters = sift(search.letters, judges, (objection) => {
    leftOut.add(objection);
  });
  try {
    if (options.dryRun === true) await count(context, kind, { ...search, letters }, counts);
    else await send(context, kind, { ...search, letters }, counts, task, options, stop);
  } finally {
    leftOut.sentences().forEach(note);
  }
  if (counts.total === 0 && leftOut.isEmpty) note(`no ${kind.noun} matches`);
}

async function count<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  search: Search<L>,
  counts: LetterCounts<L>,
): Promise<void> {
  const status = startStatusLine(() => search.progress());
  for await (const letter of search.letters) counts.add(letter);
  status.stop();
  context.print(counts.present(kind.noun));
}

async function send<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  search: Search<L>,
  counts: LetterCounts<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
  stop: AbortController,
): Promise<void> {
  const { kafka, log } = context;
  const { redrives: redrivesTopic } = (await context.topology()).topics;
  const id = randomBytes(4).toString('hex');
  void shutdownSignal().then(() => {
    stop.abort();
  });
  let refused = 0;
  const producer = await createProducer(kafka, { log });
  const status = startStatusLine(() => `${counts.total} sent again; ${search.progress()}`);
  try {
    await redrive({
      ...{ letters: search.letters, sentAgain: task.sentAgain, producer, clock: systemClock },
      ...{ redrivesTopic, rate: options.rate, id, signal: stop.signal },
      onSent: (letter) => {
        counts.add(letter);
      },
      onRefused: ({ record }, error) => {
        refused += 1;
        note(`${placeText(record)} cannot be sent again: ${error.message}`);
      },
    });
  } finally {
    status.stop();
    await producer.close(closeMs);
  }
  context.print(counts.present(kind.noun));
  context.print(`${counted(counts.total, kind.noun)} sent again, in redrive ${id}`);
  if (stop.signal.aborted)
    throw new PostriderError(
      'stopped',
      `stopped early; ${goOnWith(options) ?? 'the same command'} goes on where it ended`,
    );
  if (refused > 0)
    throw new PostriderError(
      'record-refused',
      `Kafka refused ${counted(refused, kind.noun)}, named above`,
    );
}

/** Where the same command would begin again: the options that make it go on. */
function goOnWith({ again }: RedriveOptions): string | undefined {
  return again === undefined ? undefined : `it with --again=${new Date(again).toISOString()}`;
}
