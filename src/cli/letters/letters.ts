import { owned, placeText, type Letter, type Place } from '../../dead-letter/letter.ts';
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
import { readMarks, Redrives, redriveSlices } from '../../dead-letter/redrives.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
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
  /** Knows the letter that was yielded last; marks of letters far behind it are dropped. */
  readonly redrives: Pick<Redrives, 'timeMsOf'>;
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
  const { letters, more } = await oldestLetters(context, kind, selection, limit);
  const redrives = await redrivesOf(context, kind, letters);
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
  const counter = new ReadCounter(found);
  const { signal } = new AbortController();
  const status = context.status(() => counter.text);
  const written = found.ranges.filter(({ start, end }) => start < end);
  const oldest = new OldestLetters<L>(
    limit,
    written.map(({ partition }) => partition),
  );
  try {
    for await (const record of readLetters(context.kafka, found, counter.add, signal)) {
      if (oldest.isComplete) break;
      if (!oldest.mayHold(record)) continue;
      const letter = kind.read(record);
      if (matches(letter)) oldest.add(owned(letter));
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
  const letter = kind.read(await readLetter(context.kafka, topic, place));
  const redrives = await redrivesOf(context, kind, [letter]);
  context.print(presentLetter(letter, redrives, output, kind.view));
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
    const matches = ({ record }: L): boolean => wanted.has(placeText(record));
    return search(context, kind, { found, matches }, signal);
  }
  const found = await searchRanges(kafka, topic, area);
  noteWhatIsRead(context, area, found);
  const { matches } = selection;
  return search(context, kind, { found, matches, sinceMs: area.sinceMs }, signal);
}

/** What is known of these letters. */
async function redrivesOf<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  letters: readonly L[],
): Promise<Redrives> {
  const topology = await context.topology();
  const wanted = new Set(letters.map(({ record }) => placeText(record)));
  const redrives = new Redrives(kind.topicOf(topology), (place) => wanted.has(placeText(place)));
  if (letters.length === 0) return redrives;
  const sinceMs = letters.reduce((ms, { record }) => Math.min(ms, record.timestampMs), Infinity);
  for await (const mark of readMarks(context.kafka, topology.topics.redrives, sinceMs))
    redrives.collect(mark);
  return redrives;
}

function noteWhatIsRead(context: Context, { key }: SearchArea, found: LetterRanges): void {
  if (key === undefined)
    context.note(
      `reading all ${found.partitions} partitions (${counted(recordsOf(found), 'record')})`,
    );
}

interface Found<L extends Letter> {
  readonly found: LetterRanges;
  readonly matches: (letter: L) => boolean;
  /** No letter is from before then. */
  readonly sinceMs?: number | undefined;
}

async function search<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  { found, matches, sinceMs }: Found<L>,
  signal: AbortSignal,
): Promise<Search<L>> {
  const { kafka } = context;
  const { redrives: marksTopic } = (await context.topology()).topics;
  const counter = new ReadCounter(found);
  const slices = redriveSlices(found, () => readMarks(kafka, marksTopic, sinceMs, signal));
  let known: Redrives | undefined;
  async function* letters(): AsyncGenerator<L, void, undefined> {
    for await (const { ranges, redrives } of slices) {
      known = redrives;
      for await (const record of readLetters(kafka, { ...found, ranges }, counter.add, signal)) {
        const letter = kind.read(record);
        if (matches(letter)) yield owned(letter);
      }
      if (signal.aborted) return;
    }
  }
  return {
    letters: letters(),
    redrives: { timeMsOf: (letter) => known?.timeMsOf(letter) },
    progress: () => counter.text,
  };
}

/** How many records of the ranges are read. */
class ReadCounter {
  readonly #all: number;
  #soFar = 0;

  constructor(found: LetterRanges) {
    this.#all = recordsOf(found);
  }

  readonly add = (): void => {
    this.#soFar += 1;
  };

  get text(): string {
    return `${this.#soFar.toLocaleString('en')} of ${this.#all.toLocaleString('en')} records read`;
  }
}

export function recordsOf({ ranges }: LetterRanges): number {
  return ranges.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
}
