import { placeText, type Letter, type Place } from '../../dead-letter/letter.ts';
import { OldestLetters } from '../../dead-letter/oldest.ts';
import { presentLetter, presentLetters, type LetterView } from '../../dead-letter/present.ts';
import {
  placeRanges,
  readLetter,
  readLetters,
  searchRanges,
  type LetterRanges,
  type SearchArea,
} from '../../dead-letter/read-letters.ts';
import { loadRedrives, type Redrives } from '../../dead-letter/redrives.ts';
import { copied, type IncomingRecord } from '../../kafka/record.ts';
import type { Topology } from '../../topology.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Context } from '../context.ts';
import { counted } from '../terminal/counted.ts';
import type { ListOptions } from './options.ts';
import type { OutputOptions } from '../terminal/output.ts';

/** The parts of list, show and redrive that differ between the letters of different topics. */
export interface LetterKind<L extends Letter> {
  /** The noun for one letter in sentences. */
  readonly noun: string;
  topicOf(topology: Topology): string;
  read(record: IncomingRecord): L;
  readonly view: LetterView<L>;
  /** What sends those again that were sent before; undefined: nothing does. */
  readonly sendsTwice?: string;
}

/** Which letters are selected: those at the given places, otherwise those that match. */
export interface Selection<L extends Letter> {
  readonly places?: readonly Place[];
  readonly area: SearchArea;
  readonly matches: (letter: L) => boolean;
}

export interface Search<L extends Letter> {
  readonly letters: AsyncGenerator<L, void, undefined>;
  /** How far it is. */
  readonly progress: () => string;
}

/** Oldest first. */
export async function listLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  selection: Selection<L>,
  { limit, output }: ListOptions,
): Promise<void> {
  await requireLetters(context, kind);
  const [redrives, { letters, more }] = await Promise.all([
    redrivesOf(context, kind),
    oldestLetters(context, kind, selection, limit),
  ]);
  context.print(presentLetters(letters, redrives, output, kind.view));
  if (more) context.note(`there are more than ${limit}; select fewer or raise --limit`);
  if (letters.length === 0) context.note(`no ${kind.noun} matches`);
}

async function oldestLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  { area, matches }: Selection<L>,
  limit: number,
): Promise<ReturnType<OldestLetters<L>['result']>> {
  const topic = kind.topicOf(await context.topology());
  const found = await searchRanges(context.kafka, topic, area);
  noteWhatIsRead(context, area, found);
  const { records, progress } = read(context, found, new AbortController().signal);
  const status = context.status(progress);
  const written = found.ranges.filter(({ start, end }) => start < end);
  const oldest = new OldestLetters<L>(
    limit,
    written.map(({ partition }) => partition),
  );
  try {
    for await (const record of records) {
      if (oldest.isComplete) break;
      if (oldest.mayHold(record) && matches(kind.read(record)))
        oldest.add(kind.read(copied(record)));
    }
  } finally {
    status.stop();
  }
  return oldest.result();
}

export async function showLetter<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  place: Place,
  { output }: OutputOptions,
): Promise<void> {
  const topic = await requireLetters(context, kind);
  const record = await readLetter(context.kafka, topic, place);
  const redrives = await redrivesOf(context, kind);
  context.print(presentLetter(kind.read(record), redrives, output, kind.view));
}

/**
 * The topic of the letters.
 * @throws PostriderError `not-found` if it does not exist, with the command that creates it
 */
export async function requireLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
): Promise<string> {
  const topology = await context.topology();
  const topic = kind.topicOf(topology);
  await requireTopics(context.kafka, [{ name: topic }, { name: topology.topics.redrives }]);
  return topic;
}

/**
 * Prints on stderr what has to be read if that is more than one partition.
 * @throws PostriderError `not-found` for a place without a record
 */
export async function searchLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  selection: Selection<L>,
  signal: AbortSignal,
): Promise<Search<L>> {
  const { kafka } = context;
  const { places = [], area } = selection;
  const topic = kind.topicOf(await context.topology());
  if (places.length > 0) {
    const wanted = new Set(places.map(placeText));
    const found = await placeRanges(kafka, topic, places);
    return search(context, kind, found, ({ record }) => wanted.has(placeText(record)), signal);
  }
  const found = await searchRanges(kafka, topic, area);
  noteWhatIsRead(context, area, found);
  return search(context, kind, found, selection.matches, signal);
}

export async function redrivesOf<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
): Promise<Redrives> {
  const topology = await context.topology();
  return loadRedrives(context.kafka, topology.topics.redrives, kind.topicOf(topology));
}

function noteWhatIsRead(context: Context, { key }: SearchArea, found: LetterRanges): void {
  if (key === undefined)
    context.note(
      `reading all ${found.partitions} partitions (${counted(recordsOf(found), 'record')})`,
    );
}

function search<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  found: LetterRanges,
  matches: (letter: L) => boolean,
  signal: AbortSignal,
): Search<L> {
  const { records, progress } = read(context, found, signal);
  return { letters: matching(kind, records, matches), progress };
}

function read(
  { kafka }: Context,
  found: LetterRanges,
  signal: AbortSignal,
): Pick<Search<never>, 'progress'> & { readonly records: AsyncIterable<IncomingRecord> } {
  let soFar = 0;
  const all = recordsOf(found);
  return {
    records: readLetters(kafka, found, () => (soFar += 1), signal),
    progress: () => `${soFar.toLocaleString('en')} of ${all.toLocaleString('en')} records read`,
  };
}

async function* matching<L extends Letter>(
  kind: LetterKind<L>,
  records: AsyncIterable<IncomingRecord>,
  matches: (letter: L) => boolean,
): AsyncGenerator<L, void, undefined> {
  for await (const record of records) {
    const letter = kind.read(record);
    if (matches(letter)) yield letter;
  }
}

export function recordsOf({ ranges }: LetterRanges): number {
  return ranges.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
}
