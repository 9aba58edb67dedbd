import type { IncomingRecord } from '../../kafka/record.ts';
import type { Clock } from '../../ops/clock.ts';
import { waitUnlessAborted } from '../../ops/wait.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import { rowOfLine, type AttemptRow } from './attempt-rows.ts';
import { keepBounds, removeUnusedWords, type Bounds } from './bounds.ts';
import type { IndexDatabase } from './database.ts';
import type { LastHours } from './last-hour.ts';
import type { Pasts } from './pasts.ts';
import { rowOfDeadLetter, rowOfMark, rowOfRejected } from './letter-rows.ts';
import {
  append,
  attemptsTable,
  bucketMs,
  lettersTable,
  offsetsTable,
  rejectedTable,
  sentAgainTable,
  wordsTable,
  type letterKinds,
  type LetterRow,
  type OffsetRow,
  type SentAgainRow,
} from './schema.ts';
import type { TopicFeed } from './topic-feed.ts';
import type { Words } from './words.ts';

/** The part of a `TopicFeed` that the indexer uses. */
export type Feed = Pick<
  TopicFeed,
  'topic' | 'topicId' | 'isFresh' | 'takenUntilMs' | 'takeIsVoid' | 'take'
>;

export interface IndexerOptions {
  readonly database: IndexDatabase;
  readonly feeds: {
    readonly attempts: Feed;
    readonly letters: Feed;
    readonly rejected: Feed;
    readonly redrives: Feed;
  };
  /** The topics of letters, by the tables that hold them. */
  readonly letterTopics: Readonly<Record<keyof typeof letterKinds, string>>;
  readonly words: Words;
  readonly lastHours: LastHours;
  readonly pasts: Pasts;
  readonly lastSeq: number;
  readonly countedSeq: number;
  readonly bounds: Bounds;
  readonly metrics: ConsoleMetrics;
  readonly clock: Clock;
  sourceOf(writeKey: string): string | undefined;
}

/** Values in one transaction: some 25,000 lines, a tenth of a second. Twice as many cost 30 MB, and gain 4 %. */
const batchBytes = 3 * 1024 * 1024;
/** A commit waits for the disk, and pages look every two seconds. */
const leastPauseMs = 1_000;
/** Attempts that are not in buckets yet are looked through one by one. */
const mostUncounted = 1_000_000;
const countEveryMs = 300_000;
const boundEveryMs = 300_000;
/** All rows are looked through for the words that they use. */
const forgetWordsEveryMs = 3_600_000;
/** So many lines, and others have a turn. */
const turnLines = 1_000;

interface Batch {
  readonly attempts: AttemptRow[];
  readonly letters: LetterRow[];
  readonly rejected: LetterRow[];
  readonly sentAgain: SentAgainRow[];
  readonly offsets: OffsetRow[];
  readonly voids: readonly Feed[];
}

/** Writes what the feeds bring, a batch at a time: its rows and its offsets in one transaction. */
export class Indexer {
  readonly #options: IndexerOptions;
  readonly #stop = new AbortController();
  #wake: (() => void) | undefined;
  #lastSeq: number;
  #countedSeq: number;
  #countedAtMs = performance.now();
  #boundedAtMs = -Infinity;
  #forgotWordsAtMs = -Infinity;
  /** The first record of the batch that is being written came at this time of `performance.now()`. */
  #writingSinceMs = Infinity;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#lastSeq = options.lastSeq;
    this.#countedSeq = options.countedSeq;
  }

  /** The `seq` of the newest attempt that is in buckets. */
  get countedSeq(): number {
    return this.#countedSeq;
  }

  /** Everything that was written to the topics before this time of `performance.now()` is in the file. */
  get knownAtMs(): number {
    return Math.min(this.#writingSinceMs, this.#takenUntilMs);
  }

  /** There may be something to do. */
  wake(): void {
    this.#wake?.();
  }

  /** Until it is stopped. @throws whatever DuckDB does */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const beganMs = performance.now();
      if (beganMs - this.#boundedAtMs > boundEveryMs) await this.#bound();
      this.#writingSinceMs = this.#takenUntilMs;
      const batch = await this.#take();
      if (batch === undefined) {
        this.#writingSinceMs = Infinity;
        await this.#sleep();
        continue;
      }
      await this.#write(batch);
      this.#writingSinceMs = Infinity;
      // What is left waits for a full batch, or a second.
      const isFull = batch.offsets.length > 0 && this.#isBehind();
      const restMs = leastPauseMs - (performance.now() - beganMs);
      if (!isFull && restMs > 0) await waitUnlessAborted(restMs, signal);
    }
  }

  stop(): void {
    this.#stop.abort();
    this.wake();
  }

  get #takenUntilMs(): number {
    const feeds = Object.values(this.#options.feeds);
    return Math.min(...feeds.map((feed) => feed.takenUntilMs));
  }

  #isBehind(): boolean {
    return !this.#options.feeds.attempts.isFresh;
  }

  async #sleep(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, boundEveryMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  async #bound(): Promise<void> {
    const { database, bounds, clock, words, lastHours, pasts } = this.#options;
    this.#boundedAtMs = performance.now();
    await keepBounds(database, bounds, clock.now());
    const isForgetful = this.#boundedAtMs - this.#forgotWordsAtMs > forgetWordsEveryMs;
    if (!words.isNearlyFull || !isForgetful) return;
    this.#forgotWordsAtMs = this.#boundedAtMs;
    const used = await removeUnusedWords(database);
    words.keep(used);
    lastHours.keep(used);
    pasts.keep(used);
  }

  async #take(): Promise<Batch | undefined> {
    const { feeds, words } = this.#options;
    const all = Object.values(feeds);
    // First: what is taken then is of the new topic.
    const voids = all.filter((feed) => feed.takeIsVoid());
    const attempts = feeds.attempts.take(batchBytes);
    const letters = feeds.letters.take(batchBytes);
    const rejected = feeds.rejected.take(batchBytes);
    const marks = feeds.redrives.take(batchBytes);
    const taken = attempts.length + letters.length + rejected.length + marks.length;
    if (voids.length + taken === 0) return undefined;
    const offsets = [
      ...offsetsAfter(attempts, feeds.attempts),
      ...offsetsAfter(letters, feeds.letters),
      ...offsetsAfter(rejected, feeds.rejected),
      ...offsetsAfter(marks, feeds.redrives),
    ];
    return {
      attempts: await this.#attemptRows(attempts),
      letters: letters.map((record) => rowOfDeadLetter(record, words)),
      rejected: rejected.map((record) =>
        rowOfRejected(record, words, (key) => this.#options.sourceOf(key)),
      ),
      sentAgain: marks.flatMap((record) => rowOfMark(record, this.#options.letterTopics) ?? []),
      offsets,
      voids,
    };
  }

  async #attemptRows(records: readonly IncomingRecord[]): Promise<AttemptRow[]> {
    const { words } = this.#options;
    const rows: AttemptRow[] = [];
    let turn = turnLines;
    for (const { value, timestampMs } of records) {
      for (const text of value?.toString().split('\n') ?? []) {
        if (text === '') continue;
        const seq = this.#lastSeq + rows.length + 1;
        const row = rowOfLine(jsonOf(text), seq, words, timestampMs);
        if (row !== undefined) rows.push(row);
      }
      if (rows.length < turn) continue;
      turn = rows.length + turnLines;
      await new Promise(setImmediate);
    }
    return rows;
  }

  async #write(batch: Batch): Promise<void> {
    const { database, words, lastHours, pasts, feeds, metrics } = this.#options;
    const { writer } = database;
    const { attempts, letters, rejected, sentAgain, offsets, voids } = batch;
    const newWords = words.unwritten();
    const lastSeq = this.#lastSeq + attempts.length;
    await writer.run('begin');
    for (const feed of voids) {
      const tables = feed === feeds.attempts ? ['attempts', 'buckets'] : [];
      if (feed === feeds.letters) tables.push('dead_letters');
      if (feed === feeds.rejected) tables.push('rejected');
      if (feed === feeds.redrives) tables.push('sent_again');
      for (const table of tables) await writer.run(`delete from ${table}`);
      await writer.run('delete from offsets where topic = $topic', { topic: feed.topic });
    }
    await append(writer, wordsTable, newWords);
    await append(writer, attemptsTable, attempts);
    await append(writer, lettersTable, letters);
    await append(writer, rejectedTable, rejected);
    await append(writer, sentAgainTable, sentAgain);
    for (const { topic, partition } of offsets)
      await writer.run('delete from offsets where topic = $topic and part = $partition', {
        topic,
        partition,
      });
    await append(writer, offsetsTable, offsets);
    const isCounted = await this.#count(lastSeq);
    await writer.run('commit');
    metrics.indexed('attempt', attempts.length);
    metrics.indexed('dead-letter', letters.length);
    metrics.indexed('rejected-call', rejected.length);
    words.wrote();
    this.#lastSeq = lastSeq;
    if (isCounted) this.#countedSeq = lastSeq;
    if (voids.includes(feeds.attempts)) {
      lastHours.clear();
      pasts.clear();
    }
    for (const { destination, atMs, what, latencyClass } of attempts) {
      lastHours.add(destination, Math.floor(atMs / bucketMs), what, latencyClass);
      pasts.add(destination, what, atMs);
    }
  }

  /** Adds what came since the last time to the buckets, in the transaction that is open. */
  async #count(lastSeq: number): Promise<boolean> {
    const uncounted = lastSeq - this.#countedSeq;
    const isDue = performance.now() - this.#countedAtMs > countEveryMs;
    if (uncounted === 0 || (uncounted < mostUncounted && !isDue)) return false;
    const { writer } = this.#options.database;
    await writer.run(
      `insert into buckets
       select at_ms // ${bucketMs}, destination, url, what, latency, count(*)
       from attempts where seq > ${this.#countedSeq} group by all order by 2, 1, 3`,
    );
    await writer.run(`update facts set value = ${lastSeq} where name = 'counted'`);
    this.#countedAtMs = performance.now();
    return true;
  }
}

function offsetsAfter(records: readonly IncomingRecord[], { topic, topicId }: Feed): OffsetRow[] {
  const next = new Map<number, number>();
  for (const { partition, offset } of records) next.set(partition, offset + 1);
  return Array.from(next, ([partition, offset]) => ({ topic, topicId, partition, next: offset }));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
