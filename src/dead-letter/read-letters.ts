import { PostriderError } from '../errors.ts';
import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import { readRange } from '../kafka/read-range.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import { placeText, type Place } from './letter.ts';

/** Where letters are to be looked for. */
export interface SearchArea {
  /** When they were written; epoch milliseconds. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only in the partition that a record with this key is written to. */
  readonly key?: string | undefined;
}

/** What has to be read. */
export interface LetterRanges {
  readonly topic: string;
  readonly ranges: readonly OffsetRange[];
  /** How many the topic has. */
  readonly partitions: number;
}

/**
 * What is in the topic now. What is written later is left out, so that letters which a redrive brings
 * back do not make it endless.
 */
export async function searchRanges(
  kafka: KafkaClient,
  topic: string,
  area: SearchArea,
): Promise<LetterRanges> {
  return withAdmin(kafka, async (admin) => {
    const all = await rangesWithin(admin, topic, area);
    const { key } = area;
    const only = key === undefined ? undefined : partitionOf(key, all.length);
    const ranges = all.filter(({ partition }) => only === undefined || partition === only);
    return { topic, ranges, partitions: all.length };
  });
}

/**
 * The smallest ranges that hold these places, with others between them.
 * @throws PostriderError `not-found`
 */
export async function placeRanges(
  kafka: KafkaClient,
  topic: string,
  places: readonly Place[],
): Promise<LetterRanges> {
  const kept = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const ranges = new Map<number, OffsetRange>();
  for (const place of places) {
    const { partition, offset } = place;
    const range = kept.find((each) => each.partition === partition);
    if (range === undefined || offset < range.start || offset >= range.end)
      throw notFound(topic, place, holds(range));
    const { start, end } = ranges.get(partition) ?? { start: offset, end: offset + 1 };
    const wider = { start: Math.min(start, offset), end: Math.max(end, offset + 1) };
    ranges.set(partition, { partition, ...wider });
  }
  return { topic, ranges: [...ranges.values()], partitions: kept.length };
}

/** Each partition in its order. `onRead` is called for every record; the signal ends it early. */
export async function* readLetters(
  kafka: KafkaClient,
  { topic, ranges }: LetterRanges,
  onRead: () => void,
  signal: AbortSignal,
): AsyncGenerator<IncomingRecord, void, undefined> {
  for await (const record of readRange(kafka, { topic, ranges })) {
    if (signal.aborted) return;
    onRead();
    yield record;
  }
}

/** @throws PostriderError `not-found` */
export async function readLetter(
  kafka: KafkaClient,
  topic: string,
  place: Place,
): Promise<IncomingRecord> {
  const { ranges } = await placeRanges(kafka, topic, [place]);
  for await (const record of readRange(kafka, { topic, ranges })) return record;
  throw notFound(topic, place, 'it has just been removed');
}

async function rangesWithin(
  admin: KafkaAdmin,
  topic: string,
  { sinceMs, untilMs }: SearchArea,
): Promise<OffsetRange[]> {
  const all = await admin.offsets(topic);
  const since = sinceMs === undefined ? [] : await admin.offsetsAt(topic, sinceMs);
  const until = untilMs === undefined ? [] : await admin.offsetsAt(topic, untilMs);
  return all.map(({ partition, start, end }) => ({
    partition,
    start: Math.max(start, since[partition] ?? start),
    end: Math.min(end, until[partition] ?? end),
  }));
}

function notFound(topic: string, place: Place, why: string): PostriderError {
  return new PostriderError(
    'not-found',
    `there is no record ${placeText(place)} in ${topic}; ${why}`,
  );
}

function holds(range: OffsetRange | undefined): string {
  if (range === undefined) return 'it has no such partition';
  const { partition, start, end } = range;
  if (start === end) return `partition ${partition} is empty`;
  return `partition ${partition} holds ${partition}:${start} to ${partition}:${end - 1}`;
}
