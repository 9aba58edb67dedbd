import type { IncomingRecord } from '../kafka/record.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Topology } from '../topology.ts';
import { owned, placeText, type Letter, type Place } from './letter.ts';
import { OldestLetters } from './oldest.ts';
import type { LetterView } from './present.ts';
import {
  placeRanges,
  readLetter,
  readLetters,
  searchRanges,
  type LetterRanges,
  type SearchArea,
} from './read-letters.ts';
import { readMarks, Redrives, redriveSlices } from './redrives.ts';
import type { Caller, ServiceAccess } from './service.ts';

/** The parts of list, show and redrive that differ between the letters of different topics. */
export interface LetterKind<L extends Letter> {
  /** The noun for one letter in sentences. */
  readonly noun: string;
  topicOf(topology: Topology): string;
  read(record: IncomingRecord): L;
  readonly view: LetterView<L>;
}

/** The letters that are selected: those at the given places, otherwise those that match. */
export interface Selection<L extends Letter> {
  readonly places?: readonly Place[];
  readonly area: SearchArea;
  readonly matches: (letter: L) => boolean;
}

export interface Search<L extends Letter> {
  readonly letters: AsyncGenerator<L, void, undefined>;
  /** Knows the letter that was yielded last; marks of letters far behind it are dropped. */
  readonly redrives: Pick<Redrives, 'timeMsOf'>;
}

type Access = Pick<ServiceAccess, 'kafka' | 'topology'>;

/** Letters, and which of them were sent again. */
export interface KnownLetters<L extends Letter> {
  readonly letters: readonly L[];
  readonly redrives: Redrives;
  /** There are more than were asked for. */
  readonly more: boolean;
}

/** The oldest letters that are selected. */
export async function oldestLetters<L extends Letter>(
  access: Access,
  kind: LetterKind<L>,
  { area, matches }: Selection<L>,
  limit: number,
  { signal, onProgress }: Caller,
): Promise<KnownLetters<L>> {
  const { kafka } = access;
  const topic = await requireLetters(access, kind);
  const found = await searchRanges(kafka, topic, area);
  onProgress(foundIn(found, area));
  const onRead = (): void => {
    onProgress({ kind: 'read' });
  };
  const written = found.ranges.filter(({ start, end }) => start < end);
  const oldest = new OldestLetters<L>(
    limit,
    written.map(({ partition }) => partition),
  );
  for await (const record of readLetters(kafka, found, onRead, signal)) {
    if (oldest.isComplete) break;
    if (!oldest.mayHold(record)) continue;
    const letter = kind.read(record);
    if (matches(letter)) oldest.add(owned(letter));
  }
  const { letters, more } = oldest.result();
  return { letters, more, redrives: await redrivesOf(access, kind, letters) };
}

/** @throws PostriderError `not-found` */
export async function letterAt<L extends Letter>(
  access: Access,
  kind: LetterKind<L>,
  place: Place,
): Promise<{ readonly letter: L; readonly redrives: Redrives }> {
  const topic = await requireLetters(access, kind);
  const letter = kind.read(await readLetter(access.kafka, topic, place));
  return { letter, redrives: await redrivesOf(access, kind, [letter]) };
}

/** The number of records that the topic of the letters holds. */
export async function keptRecords<L extends Letter>(
  access: Access,
  kind: LetterKind<L>,
): Promise<number> {
  return recordsOf(await searchRanges(access.kafka, await requireLetters(access, kind), {}));
}

/**
 * The topic of the letters.
 * @throws PostriderError `not-found` if it does not exist, with the command that creates it
 */
export async function requireLetters<L extends Letter>(
  { kafka, topology }: Access,
  kind: LetterKind<L>,
): Promise<string> {
  const topic = kind.topicOf(topology);
  await requireTopics(kafka, [{ name: topic }, { name: topology.topics.redrives }]);
  return topic;
}

/** @throws PostriderError `not-found` for a place without a record */
export async function searchLetters<L extends Letter>(
  access: Access,
  kind: LetterKind<L>,
  selection: Selection<L>,
  caller: Caller,
): Promise<Search<L>> {
  const { kafka, topology } = access;
  const { places = [], area } = selection;
  const topic = kind.topicOf(topology);
  if (places.length > 0) {
    const wanted = new Set(places.map(placeText));
    const found = await placeRanges(kafka, topic, places);
    caller.onProgress({ kind: 'found', records: recordsOf(found), partitions: undefined });
    const matches = ({ record }: L): boolean => wanted.has(placeText(record));
    return search(access, kind, { found, matches }, caller);
  }
  const found = await searchRanges(kafka, topic, area);
  caller.onProgress(foundIn(found, area));
  const { matches } = selection;
  return search(access, kind, { found, matches, sinceMs: area.sinceMs }, caller);
}

/** The marks of these letters. */
async function redrivesOf<L extends Letter>(
  { kafka, topology }: Access,
  kind: LetterKind<L>,
  letters: readonly L[],
): Promise<Redrives> {
  const wanted = new Set(letters.map(({ record }) => placeText(record)));
  const redrives = new Redrives(kind.topicOf(topology), (place) => wanted.has(placeText(place)));
  if (letters.length === 0) return redrives;
  const sinceMs = letters.reduce((ms, { record }) => Math.min(ms, record.timestampMs), Infinity);
  for await (const mark of readMarks(kafka, topology.topics.redrives, sinceMs))
    redrives.collect(mark);
  return redrives;
}

function foundIn(found: LetterRanges, { key }: SearchArea): Parameters<Caller['onProgress']>[0] {
  const partitions = key === undefined ? found.partitions : undefined;
  return { kind: 'found', records: recordsOf(found), partitions };
}

interface Found<L extends Letter> {
  readonly found: LetterRanges;
  readonly matches: (letter: L) => boolean;
  /** No letter is from before then. */
  readonly sinceMs?: number | undefined;
}

function search<L extends Letter>(
  { kafka, topology }: Access,
  kind: LetterKind<L>,
  { found, matches, sinceMs }: Found<L>,
  { signal, onProgress }: Caller,
): Search<L> {
  const { redrives: marksTopic } = topology.topics;
  const slices = redriveSlices(found, () => readMarks(kafka, marksTopic, sinceMs, signal));
  const onRead = (): void => {
    onProgress({ kind: 'read' });
  };
  let known: Redrives | undefined;
  async function* letters(): AsyncGenerator<L, void, undefined> {
    for await (const { ranges, redrives } of slices) {
      known = redrives;
      for await (const record of readLetters(kafka, { ...found, ranges }, onRead, signal)) {
        const letter = kind.read(record);
        if (matches(letter)) yield owned(letter);
      }
      if (signal.aborted) return;
    }
  }
  return { letters: letters(), redrives: { timeMsOf: (letter) => known?.timeMsOf(letter) } };
}

function recordsOf({ ranges }: LetterRanges): number {
  return ranges.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
}
