import { placeText, type Letter, type Place } from '../dead-letter/letter.ts';
import { presentLetter, presentLetters, type LetterView } from '../dead-letter/present.ts';
import {
  placeRanges,
  readLetter,
  readLetters,
  searchRanges,
  type LetterRanges,
  type SearchArea,
} from '../dead-letter/read-letters.ts';
import { loadRedrives, type Redrives } from '../dead-letter/redrives.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { Topology } from '../topology.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Context } from './context.ts';
import { counted } from './counted.ts';
import type { ListOptions } from './letter-options.ts';
import { note } from './note.ts';
import { startStatusLine } from './status-line.ts';

/** What list, show and redrive need to know of the letters of one topic. */
export interface LetterKind<L extends Letter> {
  /** One of them, in sentences. */
  readonly noun: string;
  topicOf(topology: Topology): string;
  read(record: IncomingRecord): L;
  readonly view: LetterView<L>;
}

/** Which letters are meant: those at the places where some are given, else those that match. */
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
    firstLetters(context, kind, selection, limit),
  ]);
  letters.sort((a, b) => a.record.timestampMs - b.record.timestampMs);
  context.print(presentLetters(letters, redrives, output, kind.view));
  if (more) note(`there are more than ${limit}; select fewer or raise --limit`);
  if (letters.length === 0) note(`no ${kind.noun} matches`);
}

async function firstLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  selection: Selection<L>,
  limit: number,
): Promise<{ readonly letters: L[]; readonly more: boolean }> {
  const search = await searchLetters(context, kind, selection, new AbortController().signal);
  const status = startStatusLine(() => search.progress());
  const letters: L[] = [];
  let more = false;
  try {
    for await (const letter of search.letters) {
      more = letters.length === limit;
      if (more) break;
      letters.push(letter);
    }
  } finally {
    status.stop();
  }
  return { letters, more };
}

export async function showLetter<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  place: Place,
): Promise<void> {
  const topic = await requireLetters(context, kind);
  const record = await readLetter(context.kafka, topic, place);
  const redrives = await redrivesOf(context, kind);
  context.print(presentLetter(kind.read(record), redrives, kind.view));
}

/**
 * The topic that they lie in.
 * @throws PostriderError `not-found` if it does not exist, with the command that makes it
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
 * Says on stderr what it has to read where that is more than one partition.
 * @throws PostriderError `not-found` for a place where there is no record
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
  if (area.key === undefined)
    note(`reading all ${found.partitions} partitions, ${counted(recordsOf(found), 'record')}`);
  return search(context, kind, found, selection.matches, signal);
}

export async function redrivesOf<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
): Promise<Redrives> {
  const topology = await context.topology();
  return loadRedrives(context.kafka, topology.topics.redrives, kind.topicOf(topology));
}

function search<L extends Letter>(
  { kafka }: Context,
  kind: LetterKind<L>,
  found: LetterRanges,
  matches: (letter: L) => boolean,
  signal: AbortSignal,
): Search<L> {
  let read = 0;
  const all = recordsOf(found);
  const records = readLetters(kafka, found, () => (read += 1), signal);
  return {
    letters: matching(kind, records, matches),
    progress: () => `${read.toLocaleString('en')} of ${all.toLocaleString('en')} records read`,
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

function recordsOf({ ranges }: LetterRanges): number {
  return ranges.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
}
