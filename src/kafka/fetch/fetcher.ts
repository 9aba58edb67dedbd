import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../ops/log.ts';
import { earliestTime, latestTime, type Cluster } from '../cluster/cluster.ts';
import { listOffsets } from '../cluster/list-offsets.ts';
import { reasonOf } from '../keep-trying.ts';
import { Pace } from '../pace.ts';
import { KafkaAnswerError } from '../protocol/errors.ts';
import type { EpochEnd, FetchAnswer, FetchedPartition, FetchRequest } from '../protocol/fetch.ts';
import type { Brought, Cursor } from './cursor.ts';
import { judgePart } from './judge-part.ts';
import { Leaders } from './leaders.ts';
import { PartitionRecords } from './partition-records.ts';
import { settlePosition, type LogRange, type Move } from './settle-position.ts';
import { Sleeper } from './sleeper.ts';
import { wholeBatches } from './whole-batches.ts';

/** Who wants what cursors bring. All are called synchronously and must not throw. */
export interface CursorOwner {
  /**
   * Takes at most so many records by `records.next()`; called again until nothing is left or the cursor is
   * paused.
   * @returns how many there were
   */
  take(cursor: Cursor, records: PartitionRecords, most: number): number;
  /** One past the newest record, as an answer said. */
  highWatermark?(cursor: Cursor, offset: number): void;
  /** Nothing was behind the cursor when it was asked for, `askedAtMs` by the steady clock. */
  reached?(cursor: Cursor, askedAtMs: number): void;
  /** It goes on somewhere else than it was. */
  moved(cursor: Cursor, move: Move): void;
  /** What comes next cannot be read; it is tried again after a while. */
  stuck(cursor: Cursor, problem: Error): void;
  /** Its topic was deleted and made again: nothing of it is brought any more. */
  remade(cursor: Cursor): void;
  /** Waiting does not mend this. */
  refused(error: Error): void;
  /** The cluster was asked about the topics, `askedAtMs` by the steady clock. */
  refreshed?(askedAtMs: number): void;
}

export interface FetcherOptions {
  readonly cluster: Cluster;
  readonly rack: string;
  readonly log: Logger;
  readonly owner: CursorOwner;
  /** How long a fetch of these waits where there is nothing to read. */
  maxWaitMs(asked: readonly Cursor[]): number;
  /** How often topics are looked at although nothing has gone wrong. */
  readonly refreshMs: number;
  /** False while the owner has no room for what more answers would bring. */
  mayAsk?(): boolean;
  /** Topics whose records may come a fifth of a second late: they are asked for less often. */
  mayComeLate?(topic: string): boolean;
}

/** Compressed, of one answer: what it holds is in memory until it is taken. */
const answerBytes = 10 * 1024 * 1024;
/** What a broker fails to do is asked of it again after so long. */
const againMs = 250;
/** An outage of an hour is worth a line now and then. */
const warnAgainMs = 10_000;
/** For so long a quiet partition that may come late is not asked for again. */
const lateMs = 200;
/** What cannot be read now may be after the next release, or once retention has removed it. */
const stuckMs = 30_000;
/** How long the leader's word about a replica in our zone holds. */
const replicaMs = 300_000;
/** About a millisecond of work, after which others have a turn. */
const stretchRecords = 128;

/**
 * Reads partitions: of each broker one fetch at a time, for those of its cursors that want records. Each
 * partition's part of an answer is judged by itself, and moves its own cursor alone. What an answer brings is
 * kept until it is taken, so nothing is fetched twice.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #cursors = new Set<Cursor>();
  readonly #nodes = new Set<number>();
  readonly #leaders: Leaders;
  readonly #pace = new Pace();
  readonly #stop = new AbortController();
  readonly #sleeper = new Sleeper(this.#stop.signal);
  #warnedAtMs = -Infinity;
  #turn = 0;

  constructor(options: FetcherOptions) {
    this.#options = options;
    const { cluster, refreshMs, owner } = options;
    this.#leaders = new Leaders({
      cluster,
      refreshMs,
      cursors: this.#cursors,
      signal: this.#stop.signal,
      found: ({ leader }) => {
        this.#read(leader);
        this.#sleeper.wake();
      },
      remade: (cursor) => {
        this.remove(cursor);
        owner.remade(cursor);
      },
      refused: (error) => {
        owner.refused(error);
      },
      refreshed: (askedAtMs) => owner.refreshed?.(askedAtMs),
      failed: (error) => {
        this.#warn(error);
      },
    });
  }

  add(cursor: Cursor): void {
    this.#cursors.add(cursor);
    if (!this.#leaders.find(cursor)) this.#leaders.refreshSoon();
  }

  /** Nothing of it is handed over from now on. */
  remove(cursor: Cursor): void {
    this.#cursors.delete(cursor);
    cursor.brought = undefined;
  }

  pause(cursor: Cursor): void {
    cursor.isPaused = true;
  }

  resume(cursor: Cursor): void {
    if (!cursor.isPaused) return;
    cursor.isPaused = false;
    if (cursor.brought === undefined) this.#sleeper.wake();
    else if (!cursor.isHandedOver) void this.#handOver(cursor);
  }

  /** The cluster is asked about all topics as soon as may be. */
  refreshSoon(): void {
    this.#leaders.refreshSoon();
  }

  close(): void {
    for (const cursor of this.#cursors) this.remove(cursor);
    this.#stop.abort();
  }

  #isClosed(): boolean {
    return this.#stop.signal.aborted;
  }

  #read(nodeId: number): void {
    if (this.#nodes.has(nodeId)) return;
    this.#nodes.add(nodeId);
    void this.#readFrom(nodeId).finally(() => this.#nodes.delete(nodeId));
  }

  async #readFrom(nodeId: number): Promise<void> {
    const { cluster } = this.#options;
    // Whoever else is found with the first one is asked for with it.
    await nextTurn();
    while (!this.#isClosed()) {
      const askedAtMs = performance.now();
      const asked = this.#wanted(nodeId, askedAtMs);
      if (asked.length === 0) {
        await this.#sleeper.sleep(this.#options.maxWaitMs(asked));
        continue;
      }
      try {
        for (const cursor of asked) cursor.isAsked = true;
        const answer = await cluster.fetch(nodeId, this.#request(asked));
        if (answer.error !== 'NONE') throw new KafkaAnswerError(answer.error, 'a fetch');
        await this.#digest(asked, answer, askedAtMs);
      } catch (error) {
        if (this.#isClosed()) return;
        this.#warn(error);
        for (const cursor of asked) cursor.leaveReplica(performance.now());
        this.#leaders.refreshSoon();
        await this.#sleeper.rest(againMs);
      } finally {
        for (const cursor of asked) cursor.isAsked = false;
      }
    }
  }

  #wanted(nodeId: number, nowMs: number): readonly Cursor[] {
    if (this.#options.mayAsk?.() === false) return [];
    const wanted: Cursor[] = [];
    for (const cursor of this.#cursors) {
      if (cursor.isPaused || cursor.isAsked || cursor.brought !== undefined) continue;
      if (cursor.restUntilMs > nowMs || cursor.nodeAt(nowMs) !== nodeId) continue;
      wanted.push(cursor);
    }
    // A broker serves the first ones first, as far as the answer reaches.
    const first = wanted.length === 0 ? 0 : this.#turn++ % wanted.length;
    return first === 0 ? wanted : [...wanted.slice(first), ...wanted.slice(0, first)];
  }

  #request(asked: readonly Cursor[]): FetchRequest {
    const topics: { readonly id: string; readonly partitions: Cursor[] }[] = [];
    for (const cursor of asked) {
      const last = topics.at(-1);
      if (last !== undefined && last.id === cursor.topicId) last.partitions.push(cursor);
      else topics.push({ id: cursor.topicId ?? '', partitions: [cursor] });
    }
    const maxWaitMs = this.#options.maxWaitMs(asked);
    const nowMs = performance.now();
    const mayBeSent = asked.every(({ leaderOnlyUntilMs }) => leaderOnlyUntilMs <= nowMs);
    const rack = mayBeSent ? this.#options.rack : '';
    return { rack, maxBytes: answerBytes, maxWaitMs, topics };
  }

  async #digest(asked: readonly Cursor[], answer: FetchAnswer, askedAtMs: number): Promise<void> {
    const find = finderIn(asked);
    for (const part of answer.partitions) {
      const cursor = find(part);
      if (cursor !== undefined && this.#cursors.has(cursor)) this.#judge(cursor, part, askedAtMs);
    }
    for (const cursor of asked)
      if (cursor.brought !== undefined && !cursor.isHandedOver) await this.#handOver(cursor);
  }

  #judge(cursor: Cursor, part: FetchedPartition, askedAtMs: number): void {
    const { owner } = this.#options;
    const verdict = judgePart(part, cursor.offset);
    if (part.error === 'NONE') owner.highWatermark?.(cursor, part.highWatermark);
    switch (verdict.kind) {
      case 'records':
        cursor.brought = {
          from: cursor.offset,
          records: new PartitionRecords(cursor, part.records, cursor.offset, part.aborted),
          askedAtMs,
          end: part.lastStableOffset,
        };
        return;
      case 'end':
        owner.reached?.(cursor, askedAtMs);
        if (this.#options.mayComeLate?.(cursor.topic) === true)
          cursor.restUntilMs = askedAtMs + lateMs;
        return;
      case 'nothing':
        return;
      case 'replica':
        cursor.replica = { nodeId: verdict.nodeId, untilMs: askedAtMs + replicaMs };
        this.#read(verdict.nodeId);
        return;
      case 'diverged':
        void this.#settle(cursor, verdict.at);
        return;
      case 'out-of-range':
        // A replica may be behind its leader, which knows.
        if (cursor.replica === undefined) void this.#settle(cursor);
        else cursor.replica = undefined;
        return;
      case 'refused':
        owner.refused(new KafkaAnswerError(verdict.error, `topic ${cursor.topic}`));
        return;
      case 'elsewhere':
      case 'failed':
        cursor.replica = undefined;
        cursor.restUntilMs = performance.now() + againMs;
        if (verdict.kind === 'elsewhere') this.#leaders.refreshSoon();
        else
          this.#warn(
            new KafkaAnswerError(verdict.error, `partition ${cursor.partition} of ${cursor.topic}`),
          );
        return;
    }
  }

  /** A piece at a time, so that whoever else has work has a turn; what is left when the owner pauses stays. */
  async #handOver(cursor: Cursor): Promise<void> {
    const { owner } = this.#options;
    cursor.isHandedOver = true;
    try {
      for (let { brought } = cursor; brought !== undefined; { brought } = cursor) {
        const { records } = brought;
        if (cursor.isPaused) {
          records.pause();
          return;
        }
        const taken = owner.take(cursor, records, stretchRecords);
        // The owner may have given it up meanwhile.
        if (cursor.brought !== brought) return;
        cursor.offset = records.position;
        if (records.epoch >= 0) cursor.lastEpoch = records.epoch;
        if (taken < stretchRecords) this.#finish(cursor, brought);
        if (this.#pace.isPauseDue(taken)) await nextTurn();
      }
    } finally {
      cursor.isHandedOver = false;
    }
  }

  #finish(cursor: Cursor, { from, records, askedAtMs, end }: Brought): void {
    const { owner } = this.#options;
    cursor.brought = undefined;
    cursor.maxBytes = wholeBatches(cursor.limitBytes, records);
    // Brokers bring the first batch whole, or nothing.
    const problem = records.problem ?? (cursor.offset === from ? endless : undefined);
    if (problem !== undefined) {
      cursor.restUntilMs = performance.now() + stuckMs;
      owner.stuck(cursor, problem);
      return;
    }
    if (cursor.offset >= end) owner.reached?.(cursor, askedAtMs);
    if (!cursor.isAsked) this.#sleeper.wake();
  }

  /** Finds where the log goes on. While it cannot be asked, the cursor waits. */
  async #settle(cursor: Cursor, diverging?: EpochEnd): Promise<void> {
    const { owner } = this.#options;
    cursor.restUntilMs = Infinity;
    try {
      const range = await this.#rangeOf(cursor, diverging);
      const move = settlePosition(cursor.offset, range);
      if (!this.#cursors.has(cursor)) return;
      cursor.restUntilMs = 0;
      cursor.lastEpoch = range.epochEnd?.epoch ?? -1;
      if (move === undefined) return;
      cursor.offset = move.to;
      owner.moved(cursor, move);
    } catch (error) {
      this.#warn(error);
      cursor.restUntilMs = performance.now() + againMs;
      this.#leaders.refreshSoon();
    }
  }

  async #rangeOf(cursor: Cursor, diverging: EpochEnd | undefined): Promise<LogRange> {
    const { cluster } = this.#options;
    const { topic, partition, leader, leaderEpoch, lastEpoch } = cursor;
    const offsetAt = async (timeMs: number): Promise<number> =>
      (await listOffsets(cluster, topic, timeMs, [partition])).get(partition) ?? cursor.offset;
    const [start, end] = [await offsetAt(earliestTime), await offsetAt(latestTime)];
    if (diverging !== undefined || lastEpoch < 0) return { start, end, epochEnd: diverging };
    const asked = { topic, partition, leaderEpoch, epoch: lastEpoch };
    const { error, epoch, endOffset } = await cluster.epochEnd(leader, asked);
    if (error !== 'NONE') throw new KafkaAnswerError(error, `partition ${partition} of ${topic}`);
    return { start, end, epochEnd: { epoch, endOffset } };
  }

  #warn(error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - this.#warnedAtMs < warnAgainMs) return;
    this.#warnedAtMs = nowMs;
    const fields = { reason: reasonOf(error) };
    this.#options.log.warn(fields, 'Kafka brings no records; asking until it does');
  }
}

const endless = new Error('a batch states a length beyond what the broker has sent');

/** Finds whose part of an answer it is. Brokers answer in the order in which they were asked. */
function finderIn(asked: readonly Cursor[]): (part: FetchedPartition) => Cursor | undefined {
  let next = 0;
  return ({ topicId, partition }) => {
    for (let tries = asked.length; tries > 0; tries -= 1) {
      const cursor = asked[next];
      next = (next + 1) % asked.length;
      if (cursor?.partition === partition && cursor.topicId === topicId) return cursor;
    }
    return undefined;
  };
}
