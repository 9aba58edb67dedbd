import { setImmediate as nextTurn } from 'node:timers/promises';
import { LogThrottle } from '../../ops/log-throttle.ts';
import type { Logger } from '../../ops/log.ts';
import { earliestTime, latestTime, listOffsets, type Cluster } from '../cluster/cluster.ts';
import { reasonOf, refusedRight } from '../failure.ts';
import { refusalPauseMs } from '../retrying.ts';
import { KafkaAnswerError } from '../protocol/errors.ts';
import type { EpochEnd, FetchAnswer, FetchedPartition, FetchRequest } from '../protocol/fetch.ts';
import { finderIn } from '../protocol/fetch.ts';
import {
  judgePart,
  newContradiction,
  settlePosition,
  type LogRange,
  type Move,
  type PartVerdict,
} from './judge-part.ts';
import { byTopic, PartitionRecords, wholeBatches, type Brought, type Cursor } from './cursor.ts';
import { Leaders } from './leaders.ts';
import { Sleeper } from '../../ops/wait.ts';

/** The receiver of what cursors bring. All methods are called synchronously and must not throw. */
export interface CursorOwner {
  /**
   * Takes at most so many records by `records.next()`, and at least one; called again until that has said that
   * nothing is left, or the cursor is paused.
   * @returns how many there were
   */
  take(cursor: Cursor, records: PartitionRecords, most: number): number;
  /** One past the newest record, from an answer. */
  highWatermark?(cursor: Cursor, offset: number): void;
  /** Nothing was behind the cursor at the request of `askedAtMs`, by the steady clock. */
  reached?(cursor: Cursor, askedAtMs: number): void;
  /** The cursor continues at another position. */
  moved(cursor: Cursor, move: Move): void;
  /** Called when the next batch cannot be read; it is tried again after a while. */
  stuck(cursor: Cursor, problem: Error): void;
  /** Its topic was deleted and made again: nothing of it is brought any more. */
  remade(cursor: Cursor): void;
  /** Kafka's ACLs refuse a topic that was never read here. One that was is tried again, with growing pauses. */
  refused(error: Error): void;
  /** The cluster was asked about the topics, `askedAtMs` by the steady clock. */
  refreshed?(askedAtMs: number): void;
}

export interface FetcherOptions {
  readonly cluster: Cluster;
  readonly rack: string;
  readonly log: Logger;
  readonly owner: CursorOwner;
  /**
   * The time for which a fetch of these cursors waits if there is nothing to read.
   * @param leftOut how many cursors of the same broker are not in it, and may have to wait for its end
   */
  maxWaitMs(asked: readonly Cursor[], leftOut: number): number;
  /** The time between refreshes of the topics while nothing is wrong. */
  readonly refreshMs: number;
  /** Called before anything of an answer is handed over: an owner that must not take it pauses its cursors now. */
  answered?(): void;
  /** False while the owner has no room for further answers. */
  mayAsk?(): boolean;
  /** Topics whose records may come a fifth of a second late, so that they are fetched less often. */
  mayComeLate?(topic: string): boolean;
}

/** Compressed size of one answer, which is in memory until it is taken. */
const answerBytes = 10 * 1024 * 1024;
/** Pause before a failed request is repeated. */
const againMs = 250;
/** Least time between two warnings during an outage. */
const warnAgainMs = 10_000;
/** A quiet partition that may come late is not fetched again for this long. */
const lateMs = 200;
/** A broker of which nothing is wanted is looked at again after this time, and at once when something is. */
const idleMs = 1_000;
/** A batch that cannot be read now may be after the next release, or once retention has removed it. */
const stuckMs = 30_000;
/** The number of times that others are asked who leads before a position is moved back: each time, another broker answers. */
const mostDoubts = 5;
/** The time for which the leader's word about a replica in our zone holds. */
const replicaMs = 300_000;
/** The verdicts that are believed of a node that does not lead the partition. */
const believed: ReadonlySet<PartVerdict['kind']> = new Set(['records', 'end', 'nothing']);
type Question = Pick<Brought, 'nodeId' | 'askedAtMs'>;
/** About a millisecond of work, after which others have a turn. */
const stretchRecords = 128;

/**
 * Reads partitions: one fetch at a time from each broker, for its cursors that want records. Each partition's
 * part of an answer is judged separately, and moves its own cursor only. An answer is kept until all of it is
 * taken, so nothing is fetched twice.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #cursors = new Set<Cursor>();
  readonly #nodes = new Set<number>();
  /** The topics that this principal could read at some time. */
  readonly #readTopics = new Set<string>();
  readonly #leaders: Leaders;
  readonly #stop = new AbortController();
  readonly #sleeper = new Sleeper(this.#stop.signal);
  readonly #warnings = new LogThrottle(warnAgainMs);
  #turn = 0;
  /** Records that were handed over since others had a turn. */
  #stretch = 0;

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
      refused: (cursor, error) => {
        this.#refused(cursor, error);
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

  /** From now on, the owner gets nothing of this cursor. */
  remove(cursor: Cursor): void {
    this.#cursors.delete(cursor);
    cursor.brought = undefined;
  }

  pause(cursor: Cursor): void {
    cursor.isPaused = true;
  }

  /**
   * Nothing is handed over before the caller's own turn ends: an owner that resumes several cursors may pause all
   * of them again at the first record, and would go on to resume the rest.
   */
  resume(cursor: Cursor): void {
    if (!cursor.isPaused) return;
    cursor.isPaused = false;
    if (cursor.brought === undefined) this.#sleeper.wake();
    else
      queueMicrotask(() => {
        void this.#handOver(cursor);
      });
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
    // Cursors that are added in the same turn are fetched together.
    await nextTurn();
    while (!this.#isClosed()) {
      const askedAtMs = performance.now();
      const asked = this.#wanted(nodeId, askedAtMs);
      if (asked.length === 0) {
        await this.#sleeper.sleep(this.#idleMs(askedAtMs));
        continue;
      }
      try {
        for (const cursor of asked) {
          cursor.isAsked = true;
          cursor.askedEpoch = cursor.leaderEpoch;
        }
        const answer = await cluster.fetch(nodeId, this.#request(nodeId, asked));
        if (answer.error !== 'NONE') throw new KafkaAnswerError(answer.error, 'a fetch');
        await this.#digest(asked, answer, { nodeId, askedAtMs });
      } catch (error) {
        if (this.#isClosed()) return;
        this.#warn(error);
        for (const cursor of asked) cursor.leaveReplica(performance.now());
        this.#leaders.refreshSoon();
        await this.#sleeper.rest(againMs);
      } finally {
        this.#answered(nodeId, asked);
      }
    }
  }

  #answered(nodeId: number, asked: readonly Cursor[]): void {
    const nowMs = performance.now();
    let hasMoved = false;
    for (const cursor of asked) {
      cursor.isAsked = false;
      hasMoved ||= cursor.nodeAt(nowMs) !== nodeId;
    }
    if (hasMoved) this.#sleeper.wake();
  }

  /** Until the first of the cursors that rest may be asked for again. */
  #idleMs(nowMs: number): number {
    if (this.#options.mayAsk?.() === false) return this.#options.maxWaitMs([], this.#cursors.size);
    let leastMs = idleMs;
    for (const { restUntilMs } of this.#cursors)
      if (restUntilMs > nowMs) leastMs = Math.min(leastMs, restUntilMs - nowMs);
    return leastMs;
  }

  #wanted(nodeId: number, nowMs: number): readonly Cursor[] {
    if (this.#options.mayAsk?.() === false) return [];
    const wanted: Cursor[] = [];
    // A broker fills its answer with the first cursors first, so the one begins of which nothing came for longest.
    let first = 0;
    for (const cursor of this.#cursors) {
      if (cursor.isPaused || cursor.isAsked || cursor.brought !== undefined) continue;
      if (cursor.restUntilMs > nowMs || cursor.nodeAt(nowMs) !== nodeId) continue;
      if (cursor.turn < (wanted[first]?.turn ?? Infinity)) first = wanted.length;
      wanted.push(cursor);
    }
    return first === 0 ? wanted : [...wanted.slice(first), ...wanted.slice(0, first)];
  }

  #request(nodeId: number, asked: readonly Cursor[]): FetchRequest {
    const nowMs = performance.now();
    let leftOut = -asked.length;
    for (const cursor of this.#cursors) if (cursor.nodeAt(nowMs) === nodeId) leftOut += 1;
    const maxWaitMs = this.#options.maxWaitMs(asked, leftOut);
    const mayBeSent = asked.every(({ leaderOnlyUntilMs }) => leaderOnlyUntilMs <= nowMs);
    const rack = mayBeSent ? this.#options.rack : '';
    return { rack, maxBytes: answerBytes, maxWaitMs, topics: byTopic(asked) };
  }

  async #digest(asked: readonly Cursor[], answer: FetchAnswer, question: Question): Promise<void> {
    this.#options.answered?.();
    const find = finderIn(asked);
    for (const part of answer.partitions) {
      const cursor = find(part);
      if (cursor !== undefined && this.#cursors.has(cursor)) this.#judge(cursor, part, question);
    }
    for (const cursor of asked) if (cursor.brought !== undefined) await this.#handOver(cursor);
  }

  #judge(cursor: Cursor, part: FetchedPartition, { nodeId, askedAtMs }: Question): void {
    const { owner } = this.#options;
    const verdict = judgePart(part, cursor.offset);
    const isFromLeader = nodeId === cursor.leader;
    if (!isFromLeader && !believed.has(verdict.kind)) {
      this.#leave(cursor, nodeId, part.error === 'NONE' ? verdict.kind : part.error);
      return;
    }
    if (part.error === 'NONE') {
      if (cursor.refusals !== 0) this.#readTopics.add(cursor.topic);
      cursor.refusals = 0;
      cursor.timesDoubted = 0;
      owner.highWatermark?.(cursor, part.highWatermark);
    }
    switch (verdict.kind) {
      case 'records':
        cursor.turn = this.#turn++;
        if (this.#mustAskAgain(cursor, part)) return;
        if (!isFromLeader && cursor.contradiction !== undefined) {
          this.#leave(cursor, nodeId, cursor.contradiction);
          return;
        }
        cursor.brought = {
          nodeId,
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
        this.#sleeper.wake();
        return;
      case 'diverged':
        void this.#settle(cursor, verdict.at);
        return;
      case 'out-of-range':
        void this.#settle(cursor);
        return;
      case 'refused':
        this.#refused(cursor, new KafkaAnswerError(verdict.error, `topic ${cursor.topic}`));
        return;
      case 'elsewhere':
      case 'failed':
        cursor.restUntilMs = performance.now() + againMs;
        if (verdict.kind === 'elsewhere') this.#leaders.refreshSoon();
        else
          this.#warn(
            new KafkaAnswerError(verdict.error, `partition ${cursor.partition} of ${cursor.topic}`),
          );
        return;
    }
  }

  /** A replica may be behind its leader, or have lost touch with it, and its disk is another one. */
  #leave(cursor: Cursor, nodeId: number, reason: string): void {
    const { topic, partition } = cursor;
    cursor.leaveReplica(performance.now());
    this.#leaders.refreshSoon();
    this.#options.log.debug({ topic, partition, nodeId, reason }, 'a replica is left');
  }

  #mustAskAgain(cursor: Cursor, part: FetchedPartition): boolean {
    const contradiction = newContradiction(cursor, part);
    if (contradiction === undefined) return false;
    const { topic, partition } = cursor;
    this.#options.log.debug({ topic, partition, contradiction }, 'an answer is asked for again');
    return true;
  }

  #refused(cursor: Cursor, error: Error): void {
    cursor.refusals = (cursor.refusals ?? 0) + 1;
    cursor.restUntilMs = performance.now() + refusalPauseMs(cursor.refusals);
    if (this.#readTopics.has(cursor.topic)) this.#warn(error, cursor.topic);
    else this.#options.owner.refused(error);
  }

  /** A piece at a time, so that whoever else has work has a turn; what is left when the owner pauses stays. */
  async #handOver(cursor: Cursor): Promise<void> {
    if (cursor.isHandedOver) return;
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
        // The owner may have removed the cursor meanwhile.
        if (cursor.brought !== brought) return;
        cursor.offset = records.position;
        if (records.epoch >= 0) cursor.lastEpoch = records.epoch;
        if (records.isOver) this.#finish(cursor, brought);
        this.#stretch += taken;
        if (this.#stretch < stretchRecords) continue;
        this.#stretch = 0;
        await nextTurn();
      }
    } finally {
      cursor.isHandedOver = false;
    }
  }

  #finish(cursor: Cursor, { nodeId, records, askedAtMs, end }: Brought): void {
    const { owner } = this.#options;
    cursor.brought = undefined;
    cursor.maxBytes = wholeBatches(cursor.limitBytes, records);
    const problem = records.obstacle;
    if (problem === undefined) {
      if (cursor.offset >= end) owner.reached?.(cursor, askedAtMs);
    } else if (nodeId === cursor.leader) {
      cursor.restUntilMs = performance.now() + stuckMs;
      owner.stuck(cursor, problem);
    } else {
      this.#leave(cursor, nodeId, problem.message);
      this.#warn(new Error(`node ${nodeId}, a replica of ${cursor.topic}: ${problem.message}`));
    }
    if (!cursor.isAsked) this.#sleeper.wake();
  }

  /** Finds where the log continues. While that is not available, the cursor waits. */
  async #settle(cursor: Cursor, diverging?: EpochEnd): Promise<void> {
    const { owner } = this.#options;
    cursor.restUntilMs = Infinity;
    const isDoubted = diverging === undefined && cursor.mayBeOfFormerLeader;
    try {
      const range = await this.#rangeOf(cursor, diverging);
      const move = settlePosition(cursor.offset, range);
      if (move?.kind === 'cut-off' && isDoubted && cursor.timesDoubted < mostDoubts) {
        await this.#leaders.refreshInTurn();
        cursor.timesDoubted += 1;
        cursor.restUntilMs = performance.now() + againMs;
        return;
      }
      if (!this.#cursors.has(cursor)) return;
      // The broker that refuses what it has may have to find out something first.
      cursor.restUntilMs = move === undefined ? performance.now() + againMs : 0;
      cursor.lastEpoch = range.epochEnd?.epoch ?? -1;
      if (move === undefined) return;
      cursor.offset = move.to;
      owner.moved(cursor, move);
    } catch (error) {
      this.#warn(error);
      cursor.restUntilMs = performance.now() + againMs;
      this.#leaders.refreshSoon();
    } finally {
      this.#sleeper.wake();
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

  /** @param topic that it is about, if it is about one */
  #warn(error: unknown, topic?: string): void {
    if (this.#warnings.pass(performance.now()) === undefined) return;
    const fields = { reason: refusedRight(error, topic) ?? reasonOf(error) };
    this.#options.log.warn(fields, 'Kafka returns no records; trying again until it does');
  }
}
