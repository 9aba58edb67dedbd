import { normalizeTimestamp } from '../event/timestamp.ts';
import type { OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';
import { placeText, type Letter, type Place } from './letter.ts';
import { MarkTable } from './mark-table.ts';
import { clocksApartMs, searchRanges, type LetterRanges } from './read-letters.ts';

/** The last time at which a letter was sent again, and the run that did it. */
export interface Redrive {
  /** ISO 8601, UTC, with milliseconds. */
  readonly time: string;
  readonly redrive: string;
}

/** The stored form of a redrive, under `<topic>:<partition>:<offset>` of the letter. */
interface Mark extends Redrive {
  /** The letter's own time, because a topic that was created again has other letters at the same places. */
  readonly letterMs: number;
}

type PlaceAndTime = Place & Pick<IncomingRecord, 'timestampMs'>;
type MarkRecord = Pick<IncomingRecord, 'key' | 'value'>;

/**
 * The letters of one topic that were sent again. The topic `redrives` may hold millions of marks, so only those
 * of wanted letters are kept.
 */
export class Redrives {
  readonly #prefix: string;
  readonly #isWanted: (place: Place) => boolean;
  /** By partition of the letters. */
  readonly #tables = new Map<number, MarkTable>();
  #size = 0;

  /** @param isWanted default: all are */
  constructor(letterTopic: string, isWanted: (place: Place) => boolean = () => true) {
    this.#prefix = `${letterTopic}:`;
    this.#isWanted = isWanted;
  }

  /** The number of letters that are known to have been sent again. */
  get size(): number {
    return this.#size;
  }

  /** The memory that the marks take. */
  get bytes(): number {
    return [...this.#tables.values()].reduce((sum, table) => sum + table.bytes, 0);
  }

  /** The time at which the letter there was last sent again; epoch milliseconds. */
  timeMsOf({ partition, offset, timestampMs }: PlaceAndTime): number | undefined {
    return this.#tables.get(partition)?.timeMsOf(offset, timestampMs);
  }

  /** The same in ISO 8601. */
  timeOf(letter: PlaceAndTime): string | undefined {
    const timeMs = this.timeMsOf(letter);
    return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
  }

  /**
   * Takes a record of the topic `redrives` into account. The latest one of a letter wins: since partitions were
   * added, an older one may lie in another partition, and be read later.
   */
  collect({ key, value }: MarkRecord): void {
    const name = key?.toString() ?? '';
    const place = name.startsWith(this.#prefix) ? placeOf(name.slice(this.#prefix.length)) : null;
    if (place === null || !this.#isWanted(place)) return;
    const mark = decode(value);
    if (mark === undefined) return;
    const { partition, offset } = place;
    const table = this.#tables.get(partition) ?? new MarkTable();
    this.#tables.set(partition, table);
    this.#size -= table.size;
    table.add(offset, mark.letterMs, Date.parse(mark.time));
    this.#size += table.size;
  }

  /** Drops what is known of letters of the partition from this offset on. */
  dropFrom({ partition, offset }: Place): void {
    const table = this.#tables.get(partition);
    if (table === undefined) return;
    this.#size -= table.size;
    table.dropFrom(offset);
    this.#size += table.size;
  }

  clear(): void {
    this.#tables.clear();
    this.#size = 0;
  }
}

/** Letters, and those of them that were sent again. */
export interface RedriveSlice {
  readonly ranges: readonly OffsetRange[];
  readonly redrives: Redrives;
}

/**
 * The most marks in memory at a time, which take up to 64 MB: 24 bytes in a table that is three quarters to
 * three eighths full.
 */
const mostMarks = 1_000_000;

/**
 * Every mark that was there when this was called. The signal ends it early.
 * @param topic of the marks
 * @param sinceMs of letters that were written since; undefined: of all
 */
export async function* readMarks(
  kafka: KafkaClient,
  topic: string,
  sinceMs: number | undefined,
  signal?: AbortSignal,
): AsyncGenerator<IncomingRecord, void, undefined> {
  const { ranges } = await searchRanges(kafka, topic, {
    sinceMs: sinceMs === undefined ? undefined : Math.max(0, sinceMs - clocksApartMs),
  });
  for await (const record of readRange(kafka, { topic, ranges })) {
    if (signal?.aborted === true) return;
    yield record;
  }
}

/**
 * Divides the letters of a topic into slices of so few marks that they fit into memory, in most cases one. A
 * slice is valid until the next one is asked for. All marks are read again for each.
 * @param marks reads the topic `redrives`
 */
export async function* redriveSlices(
  { topic, ranges }: Pick<LetterRanges, 'topic' | 'ranges'>,
  marks: () => AsyncIterable<MarkRecord>,
  most: number = mostMarks,
): AsyncGenerator<RedriveSlice, void, undefined> {
  let rest = ranges.filter(({ start, end }) => start < end);
  while (rest.length > 0) {
    const slice = new Slice(topic, rest, most);
    for await (const record of marks()) slice.collect(record);
    yield slice;
    rest = rest
      .map((range) => ({ ...range, start: slice.endOf(range.partition) }))
      .filter(({ start, end }) => start < end);
    // The caller may still refer to it, and both together would be too much.
    slice.redrives.clear();
  }
}

/** Ranges that become narrower until the marks of their letters fit. */
class Slice implements RedriveSlice {
  readonly redrives: Redrives;
  readonly #most: number;
  readonly #ranges: Map<number, OffsetRange>;

  constructor(letterTopic: string, ranges: readonly OffsetRange[], most: number) {
    this.#most = most;
    this.#ranges = new Map(ranges.map((range) => [range.partition, range]));
    this.redrives = new Redrives(letterTopic, ({ partition, offset }) => {
      const range = this.#ranges.get(partition);
      return range !== undefined && offset >= range.start && offset < range.end;
    });
  }

  get ranges(): readonly OffsetRange[] {
    return [...this.#ranges.values()];
  }

  endOf(partition: number): number {
    return this.#ranges.get(partition)?.end ?? Infinity;
  }

  collect(record: MarkRecord): void {
    this.redrives.collect(record);
    if (this.redrives.size > this.#most) this.#narrow();
  }

  /** By more than one mark, because each time costs a look at all that are kept. */
  #narrow(): void {
    let isNarrower = true;
    while (isNarrower && this.redrives.size > this.#most * 0.75) {
      isNarrower = false;
      for (const [partition, { start, end }] of this.#ranges) {
        const offset = start + Math.max(1, Math.floor((end - start) * 0.75));
        if (offset === end) continue;
        isNarrower = true;
        this.#ranges.set(partition, { partition, start, end: offset });
        this.redrives.dropFrom({ partition, offset });
      }
    }
  }
}

/**
 * Written once the letter's copy is acknowledged. After a crash between the two, the letter is sent twice,
 * but never lost.
 */
export function redriveRecord(topic: string, { record }: Letter, redrive: Redrive): OutgoingRecord {
  const mark: Mark = { ...redrive, letterMs: record.timestampMs };
  const key = `${record.topic}:${placeText(record)}`;
  // Many marks go in one request.
  return { topic, key, value: JSON.stringify(mark), mayWait: true };
}

/** A record of the topic `redrives`; undefined: it is none that this release writes. */
export function markOf({
  key,
  value,
}: MarkRecord):
  | (Place & { readonly topic: string; readonly letterMs: number; readonly timeMs: number })
  | undefined {
  const [, topic, place = ''] = /^(.*):(\d+:\d+)$/s.exec(key?.toString() ?? '') ?? [];
  const at = placeOf(place);
  const mark = decode(value);
  if (topic === undefined || at === null || mark === undefined) return undefined;
  return { topic, ...at, letterMs: mark.letterMs, timeMs: Date.parse(mark.time) };
}

function placeOf(text: string): Place | null {
  const match = /^(\d{1,9}):(\d{1,15})$/.exec(text);
  return match === null ? null : { partition: Number(match[1]), offset: Number(match[2]) };
}

function decode(value: Buffer | null): Mark | undefined {
  try {
    const json: unknown = JSON.parse(value?.toString() ?? '');
    if (typeof json !== 'object' || json === null) return undefined;
    const { time, redrive, letterMs } = json as Record<string, unknown>;
    const isMark =
      typeof time === 'string' &&
      normalizeTimestamp(time) === time &&
      typeof redrive === 'string' &&
      typeof letterMs === 'number';
    return isMark ? { time, redrive, letterMs } : undefined;
  } catch {
    return undefined;
  }
}
