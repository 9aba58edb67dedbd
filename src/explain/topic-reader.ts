import { PostriderError } from '../errors.ts';
import type { KafkaAdmin, OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../kafka/topic-progress.ts';
import { readRange } from '../kafka/read-range.ts';
import { copied, type IncomingRecord } from '../kafka/record.ts';
import { SoughtId, type Look } from './sought-id.ts';

/** The part of a topic to read. */
interface Part {
  readonly topic: string;
  /** Undefined: all. */
  readonly partitions?: ReadonlySet<number> | undefined;
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
}

type Visit = (record: IncomingRecord) => void;
type IsAbout = (record: IncomingRecord) => boolean;

interface ReaderOptions {
  readonly kafka: KafkaClient;
  readonly admin: KafkaAdmin;
  /** The existing topics; in others, nothing is found. */
  readonly topics: ReadonlySet<string>;
  readonly messageId: string;
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Larger ranges are read in so many parts at a time: while one is searched, another one arrives. */
const mostStreams = 3;
const leastRecords = 20_000;
/**
 * This many records are unpacked in half a second. In larger ranges, only batches that show the id in their
 * stored bytes are unpacked.
 */
const mostThoroughRecords = 100_000;
/** Most things happen to an event soon. */
const stepsMs = [60_000, 15 * 60_000];

/** Reads parts of topics for records with one message id. */
export class TopicReader {
  readonly #options: ReaderOptions;
  readonly #passed: SoughtId[] = [];
  /** Records in the ranges that were begun. */
  records = 0;
  /** False once a range was so large that only its stored bytes were searched. */
  isThorough = true;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Stored bytes that were searched so far. */
  get bytes(): number {
    return this.#passed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  has(topic: string): boolean {
    return this.#options.topics.has(topic);
  }

  async partitionCount(topic: string): Promise<number> {
    return (await this.#options.admin.offsets(topic)).length;
  }

  async ranges({ topic, partitions, sinceMs, untilMs }: Part): Promise<readonly OffsetRange[]> {
    if (!this.has(topic)) return [];
    const all = await rangesWithin(this.#options.admin, topic, { sinceMs, untilMs });
    return all.filter(
      ({ partition, start, end }) => partitions?.has(partition) !== false && start < end,
    );
  }

  /**
   * The records that are about the id, ordered by time.
   * @param isAbout exact, or nearly: all that it lets through is held in memory
   * @param look where there are too many records for a thorough one; default: `end`
   * @throws PostriderError `input-invalid` where there are too many
   */
  async find(part: Part, isAbout: IsAbout, look?: Look): Promise<readonly IncomingRecord[]> {
    const found = this.findings<IncomingRecord>();
    const visit = (record: IncomingRecord): void => {
      if (isAbout(record)) found.add(copied(record), bytesOf(record));
    };
    await this.#search(part, visit, look);
    return found.items.sort((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset);
  }

  /** Visits all records that may contain the id in steps, oldest first, until enough is found. */
  async findUntil(part: Part, isEnough: () => boolean, visit: Visit): Promise<void> {
    const { sinceMs } = part;
    const ends = sinceMs === undefined ? [] : stepsMs.map((stepMs) => sinceMs + stepMs);
    let fromMs = sinceMs;
    for (const untilMs of [...ends, undefined]) {
      await this.#search({ ...part, sinceMs: fromMs, untilMs }, visit);
      if (isEnough()) return;
      fromMs = untilMs;
    }
  }

  /** A list of what is found, which is bounded. */
  findings<T>(): Findings<T> {
    return new Findings(this.#options.messageId);
  }

  /** Every record of these ranges. */
  async each(topic: string, ranges: readonly OffsetRange[], visit: Visit): Promise<void> {
    await Promise.all(ranges.map((range) => this.#read(topic, range, undefined, visit)));
  }

  async #search(part: Part, visit: Visit, look: Look = 'end'): Promise<void> {
    const ranges = await this.ranges(part);
    const how = offsetsIn(ranges) <= mostThoroughRecords ? 'thorough' : look;
    if (how !== 'thorough') this.isThorough = false;
    const streams = ranges.flatMap(inStreams);
    await Promise.all(
      streams.map((range) => this.#read(part.topic, range, this.#sought(how), visit)),
    );
  }

  #sought(look: Look): SoughtId {
    const sought = new SoughtId(this.#options.messageId, look);
    this.#passed.push(sought);
    return sought;
  }

  async #read(
    topic: string,
    range: OffsetRange,
    wanted: SoughtId | undefined,
    visit: Visit,
  ): Promise<void> {
    const { kafka, signal } = this.#options;
    this.records += range.end - range.start;
    for await (const record of readRange(kafka, { topic, ranges: [range], wanted, signal }))
      visit(record);
  }
}

function inStreams({ partition, start, end }: OffsetRange): OffsetRange[] {
  const streams = Math.min(mostStreams, Math.ceil((end - start) / leastRecords));
  const step = Math.ceil((end - start) / streams);
  return Array.from({ length: streams }, (_, index) => ({
    partition,
    start: start + index * step,
    end: Math.min(end, start + (index + 1) * step),
  }));
}

/** A story of more is read by nobody, and a sender may give all its calls one id. */
const mostItems = 2_000;
/** Anybody can send calls that are large together with the fields of their batch. A search keeps a few such lists. */
const mostBytes = 24 * 1024 * 1024;

/** The findings of one search, bounded by their number and by the memory that they take. */
class Findings<T> {
  readonly items: T[] = [];
  readonly #messageId: string;
  #bytes = 0;

  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  /** @throws PostriderError `input-invalid` where there is no more room */
  add(item: T, bytes: number): void {
    this.#bytes += bytes;
    const most =
      this.items.length >= mostItems
        ? `more than ${mostItems} records`
        : this.#bytes > mostBytes
          ? `records with more than ${mostBytes / 1024 / 1024} MB`
          : undefined;
    if (most === undefined) this.items.push(item);
    else
      throw new PostriderError(
        'input-invalid',
        `${most} have the message id ${this.#messageId}; ask with the user of the call, or for a shorter time`,
      );
  }
}

/**
 * The most bytes that a few texts and numbers take, such as a line of `attempts` with the beginning
 * of an answer.
 */
export const factsBytes: number = 4 * 1024;

function bytesOf({ key, value, headers }: IncomingRecord): number {
  const ofHeaders = Object.values(headers).reduce((sum, each) => sum + (each?.length ?? 0), 0);
  return factsBytes + (key?.length ?? 0) + (value?.length ?? 0) + ofHeaders;
}
