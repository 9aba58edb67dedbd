import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../errors.ts';
import { adminError } from './failure.ts';
import type { OffsetRange } from './admin.ts';
import {
  earliestTime,
  latestTime,
  listOffsets,
  type Cluster,
  type ClusterClient,
} from './cluster/cluster.ts';
import { judgePart, newContradiction } from './fetch/judge-part.ts';
import { Cursor, PartitionRecords } from './fetch/cursor.ts';
import { areConfirmed } from './follow/witnesses.ts';
import { KafkaAnswerError } from './protocol/errors.ts';
import type { FetchAnswer, FetchedPartition } from './protocol/fetch.ts';
import type { Wanted } from './protocol/fetched-records.ts';
import type { IncomingRecord } from './record.ts';

export interface ReadRangeOptions {
  readonly topic: string;
  /**
   * The ranges to read: as from `KafkaAdmin.offsets`, or narrower. `end` is exclusive. Default: everything that is
   * written when reading begins, including records behind a transaction that is open then, whose end is
   * waited for.
   */
  readonly ranges?: readonly OffsetRange[];
  /**
   * Default 4 MB. Use less where small records compress so well that as many bytes become too many objects.
   */
  readonly maxFetchBytes?: number;
  /** Batches that cannot contain it are left out. */
  readonly wanted?: Wanted | undefined;
  /** Ends the reading before the next answer of a broker, also where none has brought a record that is wanted. */
  readonly signal?: AbortSignal | undefined;
}

/** Less than a consumer takes, because only one answer is processed at a time, and there is no hurry. */
const defaultMaxFetchBytes = 4 * 1024 * 1024;
const maxPartitionBytes = 1024 * 1024;
const maxWaitMs = 200;
/**
 * The number of times in a row that a failing request is repeated, with that broker or another: half a minute in all.
 */
const mostFailures = 60;
const againMs = 500;
/** Each time, another broker tells who leads. */
const lostAfter = 6;

/**
 * Yields every record of the ranges once, each partition in its order, as fast as the caller takes them: one
 * answer is in memory. Records that retention has removed are left out.
 * @throws PostriderError `kafka-unavailable`, `not-found`, `kafka-refused`; `input-invalid` for a batch that
 * cannot be read; `stopped` where the signal says so
 */
export async function* readRange(
  kafka: ClusterClient,
  { topic, ranges, maxFetchBytes = defaultMaxFetchBytes, wanted, signal }: ReadRangeOptions,
): AsyncGenerator<IncomingRecord, void, undefined> {
  const cluster = kafka.openCluster();
  const reader = new RangeReader(cluster, topic, maxFetchBytes, wanted);
  try {
    reader.add(ranges ?? (await reader.written()));
    while (reader.isOpen) {
      if (signal?.aborted === true) throw new PostriderError('stopped', 'nobody waits any more');
      const answers = await reader.next();
      for (const records of answers) yield* reader.recordsOf(records);
    }
  } catch (error) {
    throw error instanceof PostriderError ? error : adminError(error, topic);
  } finally {
    cluster.close();
  }
}

/**
 * Everything that is written now, in the order of partitions: also where a former leader has lost touch with the
 * others, and knows of nothing new.
 * @throws PostriderError `kafka-unavailable`, `not-found`, `kafka-refused`
 */
export async function writtenRanges(kafka: ClusterClient, topic: string): Promise<OffsetRange[]> {
  const cluster = kafka.openCluster();
  try {
    const ranges = await new RangeReader(cluster, topic, defaultMaxFetchBytes, undefined).written();
    return ranges.toSorted((a, b) => a.partition - b.partition);
  } catch (error) {
    throw error instanceof PostriderError ? error : adminError(error, topic);
  } finally {
    cluster.close();
  }
}

interface Range {
  readonly cursor: Cursor;
  readonly end: number;
  /** The number of answers in a row that have said that the log does not reach the range's end. */
  timesLost: number;
}

class RangeReader {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #maxFetchBytes: number;
  readonly #wanted: Wanted | undefined;
  /** By partition, until its end is reached. */
  readonly #open = new Map<number, Range>();
  #failures = 0;
  #isLeaderDoubted = false;
  #turn = 0;

  constructor(cluster: Cluster, topic: string, maxFetchBytes: number, wanted: Wanted | undefined) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#maxFetchBytes = maxFetchBytes;
    this.#wanted = wanted;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  add(ranges: readonly OffsetRange[]): void {
    const maxBytes = Math.min(this.#maxFetchBytes, maxPartitionBytes);
    for (const { partition, start, end } of ranges) {
      if (start >= end) continue;
      const cursor = new Cursor({ topic: this.#topic, partition }, start, maxBytes);
      this.#open.set(partition, { cursor, end, timesLost: 0 });
    }
  }

  /** All partitions up to the high watermark. */
  async written(): Promise<readonly OffsetRange[]> {
    for (;;) {
      try {
        await this.#cluster.refresh([this.#topic]);
        const starts = await listOffsets(this.#cluster, this.#topic, earliestTime);
        const ends = await listOffsets(this.#cluster, this.#topic, latestTime);
        if (!(await areConfirmed(this.#cluster, this.#topic)))
          throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', this.#topic);
        return Array.from(starts, ([partition, start]) => ({
          partition,
          start,
          end: ends.get(partition) ?? start,
        }));
      } catch (error) {
        await this.#failed(error);
      }
    }
  }

  /** The non-empty parts of one broker's answer. Brokers take turns. */
  async next(): Promise<readonly PartitionRecords[]> {
    try {
      const asked = await this.#whomToAsk();
      const [first] = asked;
      if (first === undefined) throw new KafkaAnswerError('LEADER_NOT_AVAILABLE', this.#topic);
      const answer = await this.#cluster.fetch(first.leader, {
        maxWaitMs,
        maxBytes: this.#maxFetchBytes,
        // Without the zone, leaders answer themselves and name no replica.
        rack: '',
        topics: [{ id: first.topicId ?? '', partitions: asked }],
      });
      const brought = await this.#judge(answer);
      this.#failures = 0;
      if (this.#isLeaderDoubted) await delay(againMs);
      return brought;
    } catch (error) {
      await this.#failed(error);
      return [];
    }
  }

  *recordsOf(records: PartitionRecords): Generator<IncomingRecord, void, undefined> {
    const range = this.#open.get(records.partition);
    if (range === undefined) return;
    while (records.next() && records.offset < range.end) yield records.current();
    const { obstacle } = records;
    if (obstacle !== undefined && records.position < range.end)
      throw unreadable(range.cursor, records.position, obstacle);
    range.cursor.lastEpoch = records.epoch;
    this.#goOn(range, records.position);
  }

  async #whomToAsk(): Promise<readonly Cursor[]> {
    const cluster = this.#cluster;
    if (this.#failures > 0 || this.#isLeaderDoubted || cluster.topic(this.#topic) === undefined)
      await cluster.refreshInTurn([this.#topic]);
    this.#isLeaderDoubted = false;
    const topic = cluster.topic(this.#topic);
    const error = cluster.topicError(this.#topic);
    if (error !== undefined && topic === undefined) throw new KafkaAnswerError(error, this.#topic);
    const cursors = Array.from(this.#open.values(), ({ cursor }) => cursor);
    for (const cursor of cursors) {
      cursor.topicId ??= topic?.id;
      const { leader, epoch } = topic?.partitions[cursor.partition] ?? { leader: -1, epoch: -1 };
      cursor.leader = leader;
      cursor.leaderEpoch = epoch;
    }
    const led = cursors.filter(({ leader }) => leader >= 0);
    const first = led[this.#turn++ % Math.max(1, led.length)];
    const sameLeader = led.filter(({ leader }) => leader === first?.leader);
    return first === undefined ? [] : [first, ...sameLeader.filter((each) => each !== first)];
  }

  async #judge(answer: FetchAnswer): Promise<PartitionRecords[]> {
    if (answer.error !== 'NONE') throw new KafkaAnswerError(answer.error, this.#topic);
    const brought: PartitionRecords[] = [];
    for (const part of answer.partitions) {
      const range = this.#open.get(part.partition);
      if (range === undefined) continue;
      const { offset } = range.cursor;
      const verdict = judgePart(part, offset);
      if (verdict.kind === 'records') {
        // Otherwise it is asked for again.
        if (newContradiction(range.cursor, part) === undefined)
          brought.push(
            new PartitionRecords(range.cursor, part.records, offset, part.aborted, this.#wanted),
          );
      } else if (verdict.kind === 'out-of-range') await this.#leaveOutRemoved(range);
      else if (verdict.kind === 'diverged') this.#goOn(range, range.end);
      else if (verdict.kind === 'end') await this.#leaveOutLost(range);
      else if (part.error !== 'NONE') throw errorOf(part, this.#topic);
    }
    return brought;
  }

  async #leaveOutRemoved(range: Range): Promise<void> {
    const { topic, partition, offset } = range.cursor;
    const starts = await listOffsets(this.#cluster, topic, earliestTime, [partition]);
    const start = starts.get(partition) ?? offset;
    if (start > offset) this.#goOn(range, start);
    else this.#lost(range);
  }

  async #leaveOutLost(range: Range): Promise<void> {
    const { topic, partition, offset } = range.cursor;
    const ends = await listOffsets(this.#cluster, topic, latestTime, [partition]);
    // A leader that does not know its end yet reports an error instead.
    if ((ends.get(partition) ?? Infinity) <= offset) this.#lost(range);
  }

  /**
   * The log may have been cut off since the range was made. Offsets that it no longer reaches are gone. But a former
   * leader that has lost touch with the others says the same, so others are asked several times who leads.
   */
  #lost(range: Range): void {
    range.timesLost += 1;
    if (range.timesLost < lostAfter) this.#isLeaderDoubted = true;
    else this.#goOn(range, range.end);
  }

  #goOn(range: Range, position: number): void {
    const { cursor, end } = range;
    if (position > cursor.offset) range.timesLost = 0;
    cursor.offset = Math.max(cursor.offset, position);
    if (cursor.offset >= end) this.#open.delete(cursor.partition);
  }

  async #failed(error: unknown): Promise<void> {
    this.#failures += 1;
    if (error instanceof PostriderError || this.#failures >= mostFailuresOf(error)) throw error;
    await delay(againMs);
  }
}

function errorOf({ error, partition }: FetchedPartition, topic: string): Error {
  return new KafkaAnswerError(error, `partition ${partition} of ${topic}`);
}

function mostFailuresOf(error: unknown): number {
  const type = error instanceof KafkaAnswerError ? error.type : undefined;
  // Waiting does not help against a missing right.
  if (type === 'TOPIC_AUTHORIZATION_FAILED') return 1;
  // A broker that has just started may not have the topic yet.
  if (type === 'UNKNOWN_TOPIC_OR_PARTITION') return 4;
  return mostFailures;
}

function unreadable({ topic, partition }: Cursor, offset: number, cause: Error): Error {
  const where = `partition ${partition} of ${topic} at offset ${offset}`;
  return new PostriderError('input-invalid', `the records of ${where} cannot be read`, { cause });
}
