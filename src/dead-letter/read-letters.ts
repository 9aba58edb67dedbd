import { PostriderError } from '../errors.ts';
import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { rangesWithin, type TimeSpan } from '../kafka/topic-progress.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import { readRange, writtenRanges } from '../kafka/read-range.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import { placeText, type Place } from './letter.ts';

/**
 * Each partition has the clock of its leader. What is looked for by a time that another partition's clock has told
 * is looked for from so much earlier on.
 */
export const clocksApartMs = 3_600_000;

/** The area to look for letters in. Its times are those at which they were written. */
export interface SearchArea extends TimeSpan {
  /** Only the partition that a record with this key is written to. */
  readonly key?: string | undefined;
  /** By partition: nothing before these offsets. */
  readonly from?: readonly number[] | undefined;
}

/** The ranges to read. */
export interface LetterRanges {
  readonly topic: string;
  readonly ranges: readonly OffsetRange[];
  /** The number of partitions that the topic has. */
  readonly partitions: number;
}

/**
 * The present content of the topic. Later records are left out, so that letters that come back during a
 * redrive do not make it endless.
 */
export async function searchRanges(
  kafka: KafkaClient,
  topic: string,
  area: SearchArea,
): Promise<LetterRanges> {
  return withAdmin(kafka, async (admin) => {
    const confirmed: Pick<KafkaAdmin, 'offsets' | 'offsetsAt'> = {
      offsets: (name) => writtenRanges(kafka, name),
      offsetsAt: (name, timeMs) => admin.offsetsAt(name, timeMs),
    };
    const all = await rangesWithin(confirmed, topic, area);
    const { key, from } = area;
    const only = key === undefined ? undefined : partitionOf(key, all.length);
    const ranges = all
      .filter(({ partition }) => only === undefined || partition === only)
      .map(({ partition, start, end }) => ({
        partition,
        start: Math.max(start, from?.[partition] ?? start),
        end,
      }));
    return { topic, ranges, partitions: all.length };
  });
}

/**
 * The smallest ranges that contain these places, with other letters between them.
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

/** Yields each partition in its order. `onRead` is called for every record; the signal ends it early. */
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
