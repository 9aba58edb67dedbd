import { asError, PostriderError } from '../../errors.ts';
import type { Logger } from '../../ops/log.ts';
import { adminError, reasonOf } from '../failure.ts';
import { endProcess, keepTrying } from '../retrying.ts';
import { earliestTime, listOffsets, type Cluster, type ClusterClient } from '../cluster/cluster.ts';
import { Cursor, type PartitionRecords } from '../fetch/cursor.ts';
import { Fetcher, type CursorOwner } from '../fetch/fetcher.ts';
import type { Move } from '../fetch/judge-part.ts';
import { KafkaAnswerError } from '../protocol/errors.ts';
import type { IncomingRecord } from '../record.ts';
import { FollowerProgress } from './follower-progress.ts';
import { Witnesses } from './witnesses.ts';

export interface FollowerOptions {
  readonly topic: string;
  readonly log: Logger;
  /**
   * The time for which a fetch waits if there is nothing to read; default 100 ms. A longer one costs less CPU time and
   * brings records no later.
   */
  readonly maxWaitMs?: number;
  /** A fresh follower may miss records of this age; default 2 s. */
  readonly freshMs?: number | undefined;
  /** Compressed size of one partition in one fetch; default 1 MB. One batch may exceed it. */
  readonly maxPartitionBytes?: number;
  /**
   * Fresh, loaded and caught up is then only who has heard of another replica in sync that the leader still leads,
   * where there is one: a leader that has lost touch with the others knows of nothing new.
   */
  readonly needsWitnesses?: boolean;
  /**
   * The place to go on in a partition, as `position` said before, and of which topic, because one that was made
   * again has the same name. Undefined: at the beginning.
   */
  from?(partition: number, topicId: string | undefined): number | undefined;
  /** Records that were appended before this time, in epoch milliseconds, are not needed. */
  readonly sinceMs?: number;
  /**
   * Called with every record from the beginning of the topic on, in each partition's order, none twice. Must
   * not throw.
   */
  onRecord(record: IncomingRecord): void;
  /**
   * The topic was deleted and created again, or its log was cut off. What `onRecord` got so far is void, and
   * everything follows from the beginning. Meanwhile the follower is not fresh.
   */
  onRestart?(): void;
  /**
   * The follower has failed and cannot restart itself. By default `loaded` and `caughtUp` reject, and once
   * the topic was loaded the process ends with code 1.
   */
  onCrash?(error: Error): void;
}

/** Reads a whole topic, usually a compacted one, and keeps reading. */
export interface Follower {
  /** Resolves once `onRecord` has got everything that was in the topic at the start. */
  readonly loaded: Promise<void>;
  /** The next offset to read in one partition. 0 before its first record. */
  position(partition?: number): number;
  /** True while the follower has reached an end of the topic that was requested at most `freshMs` ago, and still was one. */
  isFresh(): boolean;
  /** Everything that was written before this time of `performance.now()` has come; -Infinity until the end was reached. */
  readonly knownAtMs: number;
  /** The id of the topic; undefined until the cluster has reported it. */
  readonly topicId: string | undefined;
  /** Fetches nothing more. At most 128 records of each partition that were fetched already still come. */
  pause(): void;
  resume(): void;
  /**
   * Resolves when an end of the topic that was requested after this call has been reached. Rejects with
   * `stopped`, or with `kafka-refused` if the topic could never be read.
   */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Returns at once: while Kafka or the topic is unavailable, the follower retries with a log line, until
 * `stop`.
 */
export function startFollower(kafka: ClusterClient, options: FollowerOptions): Follower {
  return new TopicFollower(kafka, options);
}

const defaultMaxWaitMs = 100;
const maxBytesPerPartition = 1_048_576;
const defaultFreshMs = 2_000;
/** A follower that may miss more asks no more rarely: partitions that are added have to be found. */
const longestRefreshMs = 5_000;

/** Reads all partitions from their beginning, without a group. Nothing else has its position. */
class TopicFollower implements Follower, CursorOwner {
  readonly loaded: Promise<void>;
  readonly #options: FollowerOptions;
  readonly #cluster: Cluster;
  readonly #fetcher: Fetcher;
  readonly #progress: FollowerProgress;
  readonly #witnesses: Witnesses;
  readonly #stopping = new AbortController();
  #cursors: (Cursor | undefined)[] = [];
  #isLoaded = false;
  #isOpening = false;
  #isPaused = false;

  constructor(kafka: ClusterClient, options: FollowerOptions) {
    const { log, topic, maxWaitMs = defaultMaxWaitMs, needsWitnesses = false } = options;
    const { freshMs = defaultFreshMs } = options;
    this.#options = options;
    this.#cluster = kafka.openCluster('follow');
    this.#progress = new FollowerProgress(freshMs, needsWitnesses);
    this.#witnesses = new Witnesses({
      cluster: this.#cluster,
      topic,
      log,
      confirmed: (topicId, partition, epoch, askedAtMs) => {
        if (this.#cursors[partition]?.topicId === topicId)
          this.#progress.confirmed(partition, epoch, askedAtMs);
      },
    });
    this.#fetcher = new Fetcher({
      cluster: this.#cluster,
      // Of the leader: a replica that has lost touch with it would say that there is nothing new.
      rack: '',
      log,
      owner: this,
      // Callers that wait for the end want the next answer at once.
      maxWaitMs: (asked) =>
        asked.some(({ partition }) => this.#progress.isAwaited(partition)) ? 0 : maxWaitMs,
      refreshMs: Math.min(freshMs / 2, longestRefreshMs),
    });
    this.#stopping.signal.addEventListener('abort', () => {
      this.#progress.end(new PostriderError('stopped', `The follower of ${topic} was stopped`));
    });
    this.loaded = this.caughtUp();
    this.loaded.then(
      () => {
        this.#isLoaded = true;
      },
      () => undefined,
    );
    this.#open();
  }

  position(partition: number = 0): number {
    return this.#cursors[partition]?.offset ?? 0;
  }

  isFresh(): boolean {
    return this.#progress.isFresh(performance.now());
  }

  get knownAtMs(): number {
    return this.#progress.knownAtMs;
  }

  get topicId(): string | undefined {
    return this.#cluster.topic(this.#options.topic)?.id;
  }

  pause(): void {
    this.#isPaused = true;
    for (const cursor of this.#cursors) if (cursor !== undefined) this.#fetcher.pause(cursor);
  }

  resume(): void {
    this.#isPaused = false;
    for (const cursor of this.#cursors) if (cursor !== undefined) this.#fetcher.resume(cursor);
  }

  caughtUp(): Promise<void> {
    const caughtUp = this.#progress.caughtUpWith(performance.now());
    this.#fetcher.refreshSoon();
    return caughtUp;
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    this.#fetcher.close();
    this.#cluster.close();
    return Promise.resolve();
  }

  take(cursor: Cursor, records: PartitionRecords, most: number): number {
    let taken = 0;
    try {
      while (taken < most && records.next()) {
        taken += 1;
        this.#options.onRecord(records.current());
      }
      cursor.offset = records.position;
    } catch (error) {
      // A defect of the listener.
      this.refused(asError(error));
    }
    return taken;
  }

  reached(cursor: Cursor, askedAtMs: number): void {
    if (this.#cursors[cursor.partition] === cursor)
      this.#progress.reached(cursor.partition, cursor.askedEpoch, askedAtMs);
  }

  moved({ topic, partition }: Cursor, { kind, from, to }: Move): void {
    const { log } = this.#options;
    if (kind === 'removed') log.info({ topic, partition, from, to }, 'records were removed unread');
    else this.#restart('its log was cut off');
  }

  /** Until the batch can be read, this follower is not fresh, because the missing records may matter. */
  stuck({ topic, partition, offset }: Cursor, problem: Error): void {
    this.#options.log.error(
      { topic, partition, offset, reason: reasonOf(problem) },
      'a batch of records cannot be read; the records behind it are not known until it can',
    );
  }

  remade(cursor: Cursor): void {
    // The owner is called for each partition.
    if (this.#cursors[cursor.partition] === cursor)
      this.#restart('it was deleted and created again');
  }

  refused(error: Error): void {
    const { topic, log } = this.#options;
    this.#fetcher.close();
    if (this.#options.onCrash !== undefined) this.#options.onCrash(error);
    else if (this.#isLoaded) endProcess(log, error, topic);
    else this.#progress.end(adminError(error, topic));
  }

  refreshed(askedAtMs: number): void {
    const partitions = this.#cluster.topic(this.#options.topic)?.partitions.length ?? 0;
    if (partitions > this.#cursors.length) this.#open();
    else if (partitions > 0) this.#progress.refreshed(partitions, askedAtMs);
    this.#witnesses.ask();
  }

  #restart(why: string): void {
    const { topic, log } = this.#options;
    log.warn({ topic, why }, 'reading a topic from its beginning');
    for (const cursor of this.#cursors) if (cursor !== undefined) this.#fetcher.remove(cursor);
    this.#cursors = [];
    this.#progress.restart();
    this.#options.onRestart?.();
    this.#open();
  }

  /** Creates a cursor for each partition that has none yet. */
  #open(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    const { topic, log } = this.#options;
    const { signal } = this.#stopping;
    const what = `Cannot read topic ${topic}`;
    void keepTrying(() => this.#openOnce(), { what, log, signal }).finally(() => {
      this.#isOpening = false;
    });
  }

  async #openOnce(): Promise<void> {
    const { topic, sinceMs, maxPartitionBytes = maxBytesPerPartition } = this.#options;
    const askedAtMs = performance.now();
    const refusal = await this.#refusal();
    if (refusal !== undefined) {
      if (this.#isLoaded) throw refusal;
      this.refused(refusal);
      return;
    }
    const starts = await listOffsets(this.#cluster, topic, earliestTime);
    const needed =
      sinceMs === undefined ? undefined : await listOffsets(this.#cluster, topic, sinceMs);
    if (this.#stopping.signal.aborted) return;
    this.#progress.refreshed(starts.size, askedAtMs);
    for (const [partition, start] of starts) {
      if (this.#cursors[partition] !== undefined) continue;
      // -1: there is none of that time.
      const first = Math.max(start, needed?.get(partition) ?? start);
      const offset = this.#options.from?.(partition, this.topicId) ?? first;
      const cursor = new Cursor({ topic, partition }, offset, maxPartitionBytes);
      cursor.isPaused = this.#isPaused;
      this.#cursors[partition] = cursor;
      this.#fetcher.add(cursor);
    }
    this.#witnesses.ask();
  }

  /** Asks about the topic. Returns what only a person can mend. */
  async #refusal(): Promise<Error | undefined> {
    const { topic } = this.#options;
    try {
      await this.#cluster.refresh([topic]);
    } catch (error) {
      if (error instanceof PostriderError && error.code === 'kafka-refused') return error;
      throw error;
    }
    const error = 'TOPIC_AUTHORIZATION_FAILED';
    if (this.#cluster.topicError(topic) !== error) return undefined;
    return new KafkaAnswerError(error, `topic ${topic}`);
  }
}
