import { randomBytes } from 'node:crypto';
import { PostriderError } from '../../errors.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { waitAtMost } from '../../ops/wait-at-most.ts';
import { adminError } from '../admin-error.ts';
import { BrokerOffsets } from '../consume/broker-offsets.ts';
import type { KafkaClient } from '../client.ts';
import { ConsumerSession, isPassing, isUnknownTopic } from '../consume/consumer-session.ts';
import { endProcess } from '../crash.ts';
import type { FetchedBatch } from '../kafkajs/fetched-batch.ts';
import { DeletionMark } from './deletion-mark.ts';
import { FollowerProgress, freshMs, type Ranges } from './follower-progress.ts';
import { incomingRecord } from '../consume/incoming-record.ts';
import { keepTrying, reasonOf } from '../keep-trying.ts';
import type { IncomingRecord, TopicPartition } from '../record.ts';

/** How old what a fresh follower does not know yet may be. */
export const followerFreshMs: number = freshMs;

export interface FollowerOptions {
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * How long a fetch waits where there is nothing to read; default 100 ms. Longer costs less CPU time and
   * brings records no later, but `stop` may take as long.
   */
  readonly maxWaitMs?: number;
  /** Every record from the beginning of the topic on, in each partition's order, none twice. Must not throw. */
  onRecord(record: IncomingRecord): void;
  /**
   * The topic was deleted and made again: what `onRecord` brought so far is void, and everything of
   * the new topic follows from its beginning. Meanwhile the follower is not fresh.
   */
  onRestart?(): void;
  /**
   * The follower is dead and cannot restart itself. By default `loaded` and `caughtUp` reject, and
   * once the topic was loaded the process ends with code 1.
   */
  onCrash?(error: Error): void;
}

/** Reads a whole topic, usually a compacted one, and keeps reading. */
export interface Follower {
  /** Resolves once everything that was in the topic at the start has been handed to `onRecord`. */
  readonly loaded: Promise<void>;
  /** The next offset to read, in one partition. 0 before the first record of it. */
  position(partition?: number): number;
  /** True while an end of the topic that was asked for at most 2 s ago has been reached. */
  isFresh(): boolean;
  /**
   * Resolves when an end of the topic that was asked for after this call has been reached. Rejects with
   * `stopped`, or with `kafka-refused` when the topic could never be read.
   */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves at once: Kafka or the topic being away is retried, with a log line, until `stop`. */
export function startFollower(kafka: KafkaClient, options: FollowerOptions): Promise<Follower> {
  return Promise.resolve(new TopicFollower(kafka, options));
}

/** Resolves once it is loaded; if it cannot be, it is stopped, and this rejects as `loaded` does. */
export async function loadFollower(
  kafka: KafkaClient,
  options: FollowerOptions,
): Promise<Follower> {
  const follower = await startFollower(kafka, options);
  try {
    await follower.loaded;
  } catch (error) {
    await follower.stop();
    throw error;
  }
  return follower;
}

const askEveryMs = 1_000;
const maxBytesPerPartition = 1_048_576;
/** A fetch in flight may keep kafkajs from stopping for as long as a broker hangs. */
const leaveMs = 5_000;

/**
 * kafkajs reads only as a member of a group; this one has a random name and no other members. After a
 * rejoin kafkajs would begin again, and bring old values back. Nothing is ever read from a commit: the
 * one that is made after joining is a mark, which the broker forgets when the topic is deleted.
 */
class TopicFollower implements Follower {
  readonly loaded: Promise<void>;
  readonly #kafka: KafkaClient;
  readonly #options: FollowerOptions;
  readonly #groupIds: string[] = [];
  readonly #offsets: BrokerOffsets;
  readonly #progress: FollowerProgress;
  readonly #stopping = new AbortController();
  /** Rejects when this follower is stopped or cannot begin. */
  readonly #ended: PromiseWithResolvers<never> = Promise.withResolvers<never>();
  #isLoaded = false;
  #session: ConsumerSession | undefined;
  #work: Promise<void>;
  #askTimer: Timer | undefined;
  #asking = false;
  #askAgain = false;
  /** The broker said that there is no such topic, or has forgotten the mark. */
  #vanished = false;
  readonly #mark: DeletionMark;
  /** Partitions whose batches may still be from before a restart. */
  readonly #unsettled = new Set<number>();

  constructor(kafka: KafkaClient, options: FollowerOptions) {
    this.#kafka = kafka;
    this.#options = options;
    this.#offsets = new BrokerOffsets(kafka);
    this.#mark = new DeletionMark(options.topic, this.#offsets);
    this.#progress = new FollowerProgress(options.clock.now());
    this.#stopping.signal.addEventListener('abort', () => {
      const message = `The follower of ${options.topic} was stopped`;
      this.#ended.reject(new PostriderError('stopped', message));
    });
    this.#ended.promise.catch(() => undefined);
    this.loaded = this.caughtUp();
    this.loaded.then(
      () => {
        this.#isLoaded = true;
      },
      () => undefined,
    );
    this.#work = this.#open();
  }

  position(partition: number = 0): number {
    return this.#progress.position(partition) ?? 0;
  }

  isFresh(): boolean {
    return this.#progress.isFresh(this.#options.clock.now());
  }

  caughtUp(): Promise<void> {
    const reached = this.#progress.reached();
    this.#ask();
    return Promise.race([reached, this.#ended.promise]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#askTimer?.cancel();
    await waitAtMost(leaveMs, this.#leave());
    this.#offsets.close();
  }

  async #leave(): Promise<void> {
    await this.#session?.close();
    await this.#work;
    for (const groupId of this.#groupIds) {
      await this.#offsets.deleteGroup(groupId).catch((error: unknown) => {
        this.#options.log.debug({ groupId, reason: reasonOf(error) }, 'a group is left over');
      });
    }
  }

  async #open(): Promise<void> {
    const { topic, log, maxWaitMs } = this.#options;
    const { signal } = this.#stopping;
    // Not the one of before a crash: its former member would hold the join up until it is forgotten.
    const groupId = `${topic}.follower-${randomBytes(8).toString('hex')}`;
    this.#groupIds.push(groupId);
    this.#mark.clear();
    await keepTrying(
      async () => {
        const session = new ConsumerSession(
          this.#kafka,
          { groupId, maxBytesPerPartition, maxWaitMs, log },
          {
            joined: (assignment) => {
              this.#onJoin(assignment);
            },
            batch: (batch) => {
              try {
                if (!batch.isStale()) this.#onBatch(batch);
              } catch (error) {
                // A defect of the listener; inside kafkajs it would be retried.
                this.#onCrash(error instanceof Error ? error : new Error(String(error)), false);
              }
            },
            fetching: (nodeId) => {
              this.#progress.fetching(nodeId, this.#options.clock.now());
            },
            committed: () => {
              this.#mark.set(groupId);
            },
            crashed: (error, restart) => {
              this.#onCrash(error, restart);
            },
          },
        );
        this.#session = session;
        await session.open([topic]).catch(async (error: unknown) => {
          await session.close();
          throw error;
        });
      },
      { what: `Cannot read topic ${topic}`, log, signal },
    );
  }

  #onJoin(assignment: readonly TopicPartition[]): void {
    this.#progress.stirred(this.#options.clock.now());
    for (const partition of assignment) {
      const position = this.#progress.position(partition.partition);
      if (position !== undefined) this.#session?.seek(partition, position);
    }
  }

  #onBatch(batch: FetchedBatch): void {
    const { topic, partition, fetchedOffset } = batch;
    const position = this.#progress.position(partition) ?? fetchedOffset;
    if (fetchedOffset > position && !this.#isAhead(partition, position)) return;
    this.#unsettled.delete(partition);
    for (const message of batch.messages) {
      // After a rejoin kafkajs may begin again: the old values of a compacted topic must not return.
      if (message.offsetNumber >= position) {
        this.#options.onRecord(incomingRecord(topic, partition, message));
      }
    }
    this.#progress.moved(partition, batch.lastOffset + 1, this.#options.clock.now());
    batch.resolve();
  }

  /**
   * A batch from further on than our position: from before a restart, or because retention has
   * removed what was between. It is sought once; the second time it is true.
   */
  #isAhead(partition: number, position: number): boolean {
    if (this.#unsettled.delete(partition)) {
      this.#session?.seek({ topic: this.#options.topic, partition }, position);
      return false;
    }
    return true;
  }

  #onCrash(error: Error, restart: boolean): void {
    const { topic, clock, log } = this.#options;
    this.#progress.stirred(clock.now());
    if (isUnknownTopic(error)) this.#vanished = true;
    if (restart || isPassing(error)) {
      log.warn({ topic, reason: reasonOf(error) }, 'lost Kafka; reading on as soon as it is back');
      this.#reopen();
    } else if (this.#options.onCrash !== undefined) this.#options.onCrash(error);
    else if (this.#isLoaded) endProcess(log, error, topic);
    else this.#ended.reject(adminError(error, topic));
  }

  #reopen(): void {
    const crashed = this.#session;
    this.#work = this.#work.then(async () => {
      await crashed?.close();
      if (!this.#stopping.signal.aborted && this.#session === crashed) await this.#open();
    });
  }

  /** Asks for the ends of the topic, now and from then on every second. */
  #ask(): void {
    this.#askTimer?.cancel();
    this.#askAgain = this.#asking;
    if (this.#asking || this.#stopping.signal.aborted) return;
    this.#asking = true;
    void this.#askOnce().then(() => {
      this.#asking = false;
      if (this.#stopping.signal.aborted) return;
      if (this.#askAgain) this.#ask();
      else {
        this.#askTimer = this.#options.clock.after(askEveryMs, () => {
          this.#ask();
        });
      }
    });
  }

  async #askOnce(): Promise<void> {
    const { topic, clock, log } = this.#options;
    try {
      if (await this.#mark.isForgotten()) this.#vanished = true;
      // What is known counts from before the question: the answer may be long on its way.
      const { askId, positions } = this.#progress.beginAsk(clock.now());
      const ranges = await this.#offsets.ranges(topic);
      const isNew = this.#vanished && positions.size > 0;
      this.#vanished = false;
      if (this.#progress.hasShrunk(positions, ranges) || isNew) this.#restart(ranges);
      else this.#progress.answered(askId, ranges, clock.now());
      if (!this.#mark.isSet) await this.#session?.commit(this.#mark.offsetsOf(ranges));
    } catch (error) {
      if (isUnknownTopic(error)) this.#vanished = true;
      log.debug({ topic, reason: reasonOf(error) }, 'the end of a topic is not known');
    }
  }

  #restart(ranges: Ranges): void {
    const { topic, log, clock } = this.#options;
    log.warn({ topic }, 'the topic was deleted and made again; reading it from its beginning');
    this.#progress.restart(ranges, clock.now());
    this.#mark.clear();
    this.#options.onRestart?.();
    for (const [partition, { earliest }] of ranges) {
      this.#unsettled.add(partition);
      this.#session?.seek({ topic, partition }, earliest);
    }
  }
}
