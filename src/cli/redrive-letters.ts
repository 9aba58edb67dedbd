import { randomBytes } from 'node:crypto';
import { placeText, type Letter } from '../dead-letter/letter.ts';
import { LetterCounts } from '../dead-letter/present.ts';
import type { LiveTraffic } from '../dead-letter/live-traffic.ts';
import { redrive } from '../dead-letter/redrive.ts';
import { sentBefore, sift, type Judge } from '../dead-letter/sift.ts';
import { PostriderError } from '../errors.ts';
import { acquireExclusive } from '../kafka/exclusive.ts';
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
  /** What goes before. */
  readonly live?: LiveTraffic;
}

const closeMs = 30_000;

/**
 * Sends letters again, or counts them.
 * @throws PostriderError `busy` while another process sends letters of the same kind
 */
export async function redriveLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
): Promise<void> {
  const counts = new LetterCounts(kind.view);
  const leftOut = new LeftOut(kind.noun);
  try {
    if (options.dryRun === true) {
      const { signal } = new AbortController();
      await count(
        context,
        kind,
        await sifted(context, kind, task, options, leftOut, signal),
        counts,
      );
    } else {
      await sendAlone(context, kind, task, options, leftOut, counts);
    }
  } finally {
    leftOut.sentences().forEach(note);
  }
  if (counts.total === 0 && leftOut.isEmpty) note(`no ${kind.noun} matches`);
}

async function sifted<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
  leftOut: LeftOut,
  signal: AbortSignal,
): Promise<Search<L>> {
  const redrives = await redrivesOf(context, kind);
  const search = await searchLetters(context, kind, task.selection, signal);
  const judges = [sentBefore(redrives, options.again), ...task.judges];
  const letters = sift(search.letters, judges, (objection) => {
    leftOut.add(objection);
  });
  return { ...search, letters };
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

/** What another process has sent must be known before: so one at a time. */
async function sendAlone<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
  leftOut: LeftOut,
  counts: LetterCounts<L>,
): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const stop = new AbortController();
  void shutdownSignal().then(() => {
    stop.abort();
  });
  const right = await acquireExclusive(kafka, {
    groupId: topology.redriveGroup(kind.topicOf(topology)),
    ...{ topic: topology.topics.config, clock: systemClock, log },
  });
  if (right === undefined)
    throw new PostriderError('busy', `another redrive of these ${kind.noun}s is running`);
  right.lost.addEventListener('abort', () => {
    stop.abort();
  });
  try {
    const search = await sifted(context, kind, task, options, leftOut, stop.signal);
    await send(context, kind, search, task, options, counts, stop.signal);
  } finally {
    await right.release();
  }
}

async function send<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  search: Search<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
  counts: LetterCounts<L>,
  signal: AbortSignal,
): Promise<void> {
  const { kafka, log } = context;
  const { live, sentAgain } = task;
  const { redrives: redrivesTopic } = (await context.topology()).topics;
  const id = randomBytes(4).toString('hex');
  const goOn = goOnWith(options);
  if (goOn !== undefined) note(`if this is cut off, ${goOn}`);
  let refused = 0;
  const producer = await createProducer(kafka, { log });
  const status = startStatusLine(() => `${counts.total} sent again; ${search.progress()}`);
  try {
    await redrive({
      ...{ letters: search.letters, sentAgain, producer, clock: systemClock },
      ...{ redrivesTopic, rate: options.rate, id, signal },
      ...(live === undefined ? {} : { giveWay: (ended) => live.giveWay(ended) }),
      onSent: (letter) => {
        counts.add(letter);
        live?.wrote();
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
  if (signal.aborted) throw new PostriderError('stopped', `stopped early; ${goOn ?? sameGoesOn}`);
  if (refused > 0)
    throw new PostriderError(
      'record-refused',
      `Kafka refused ${counted(refused, kind.noun)}, named above`,
    );
}

const sameGoesOn = 'the same command goes on where it ended';

/** What makes the same command go on where it ended, if it would not do so by itself. */
function goOnWith({ again }: RedriveOptions): string | undefined {
  if (again === undefined) return undefined;
  return `--again=${new Date(again).toISOString()} goes on where it ended`;
}
