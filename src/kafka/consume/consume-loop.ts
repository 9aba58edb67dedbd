import { setTimeout as delay } from 'node:timers/promises';
import { asError } from '../../errors.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { waitAtMost } from '../../ops/wait.ts';
import { latestTime, listOffsets, type Cluster, type ClusterClient } from '../cluster/cluster.ts';
import { reasonOf } from '../failure.ts';
import { endProcess, keepTrying } from '../retrying.ts';
import { Fetcher } from '../fetch/fetcher.ts';
import type { TopicPartition } from '../record.ts';
import { Committer } from './committer.ts';
import type { TakenPartition, TakenRecord } from './taken-record.ts';
import { Intake } from './intake.ts';
import { IntakeBudget, type WindowLimits } from './window.ts';
import { Membership } from './membership.ts';
import { lookUpPositions } from './positions.ts';

export interface ConsumeLoopOptions {
  readonly groupId: string;
  /** Topics that do not exist are left out, with a warning, until they do. */
  readonly topics: readonly string[];
  /** The parts that the topic's one partition is wanted for: other members may have it for other parts. Default: all. */
  readonly parts?: readonly string[] | undefined;
  /** Per partition: intake pauses at these, and resumes at half. They may be exceeded by one record. */
  readonly windowRecords: number;
  readonly windowBytes: number;
  /** Other limits for some of the topics; undefined: the ones above. */
  windowOf?(topic: string): WindowLimits | undefined;
  /** A bound that several loops share, so that windows may be used in part only; default: none. */
  readonly budget?: IntakeBudget;
  /** False while there is no room for what the records become. Nothing more is fetched then. */
  mayTakeMore?(): boolean;
  /** Topics whose records may come a fifth of a second late, so that they are fetched less often. */
  mayComeLate?(topic: string): boolean;
  /** The most that one fetch brings of one partition, compressed. Default 1 MiB. */
  readonly maxBytesPerPartition?: number;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Newly taken records of one partition, in offset order. Must return at once and not throw;
   * every record must be finished or released once.
   */
  onRecords(records: TakenRecord[], from: TakenPartition): void;
  /**
   * Called after every assignment with all partitions that are read now. Those that stayed were read
   * meanwhile.
   */
  onAssigned?(partitions: TopicPartition[]): void;
  /**
   * These partitions move to another member: release at once what only waits, and bring what is under way to
   * its end.
   */
  onRevoked?(partitions: TopicPartition[]): void;
  /** Always after `onRevoked`. From here on, nothing may be done or written for these partitions. */
  onLost?(partitions: TopicPartition[]): void;
  /**
   * The group may have gone on without this member (true), or has answered that it had not (false). What was taken
   * in goes on, because a repetition is better than a loss.
   */
  onUnheard?(isUnheard: boolean): void;
  /** The group has gone on without this member, until `onAssigned` is called again. */
  onExpelled?(): void;
  /**
   * The number of partitions of a topic of which some are owned. Called soon after a join, and when the
   * number has changed.
   */
  onPartitionCount?(topic: string, partitions: number): void;
  /** The loop has failed and cannot restart itself. By default the process ends with code 1. */
  onCrash?(error: Error): void;
  /** For metrics. */
  readonly observer?: ConsumeObserver;
}

/** Events for metrics. */
export interface ConsumeObserver {
  joined?(partitions: number): void;
  /** The group's coordinator does not answer. The request is repeated. */
  troubled?(error: Error): void;
  /** So many records came again although this process had finished them. */
  redelivered?(records: number): void;
  /** So many offsets were removed from the log before they were read. */
  recordsGone?(partition: TopicPartition, records: number): void;
  /** The next batch of this partition cannot be read. It is tried again every half minute. */
  unreadable?(partition: TopicPartition): void;
  /** The commit is tried again a fifth of a second later. */
  commitFailed?(error: Error): void;
}

export interface PartitionLag extends TopicPartition {
  /** Records before the high watermark that are not finished, including those in flight. */
  readonly records: number;
  /** The append time of the oldest record in flight; undefined where none is. */
  readonly oldestMs: number | undefined;
}

export interface PartitionBefore extends TopicPartition {
  readonly inFlight: number;
  readonly unread: number;
}

export interface ConsumeLoop {
  /** True while the group knows of this member and all partitions have their positions. */
  readonly joined: boolean;
  assigned(): readonly TopicPartition[];
  /** Taken and not finished. */
  readonly inFlightRecords: number;
  /** The lag of every owned partition; at most 15 s old for those that bring nothing. */
  lag(): readonly PartitionLag[];
  /** The records of every owned partition appended before `timeMs`: in flight, and by an estimate not taken in yet. */
  before(timeMs: number, nowMs: number): readonly PartitionBefore[];
  /**
   * Stops the intake, waits until everything taken is finished or `timeoutMs` is over, commits and leaves
   * the group.
   */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * Reads topics as a member of a group, from each partition's committed offset, or from its beginning.
 * Returns at once: while Kafka is unreachable, the loop retries with a log line, until `stop`.
 */
export function startConsumeLoop(kafka: ClusterClient, options: ConsumeLoopOptions): ConsumeLoop {
  return new GroupConsumeLoop(kafka, options);
}

const unlimited: WindowLimits = { records: Infinity, bytes: Infinity };
const defaultMaxBytesPerPartition = 1_048_576;
/** A partition that is resumed has to wait until the running fetch of its broker ends. */
const maxWaitMs = 100;
/** Only a partition that is assigned meanwhile has to wait for the end of a fetch that leaves out none. */
const quietWaitMs = 500;
/** Greatest age of the high watermark of a partition that brings nothing. */
const refreshMs = 15_000;
/** A broker that hangs must not keep a process from ending. */
const leaveMs = 5_000;
/**
 * Partitions that are given up are committed within this time; otherwise their finished records are repeated.
 */
const lastCommitMs = 3_000;
const commitAgainMs = 100;

/**
 * Connects the parts: membership decides which partitions this member has, the intake takes their records,
 * the committer commits.
 */
class GroupConsumeLoop implements ConsumeLoop {
  readonly #options: ConsumeLoopOptions;
  readonly #cluster: Cluster;
  readonly #joinCluster: Cluster;
  readonly #fetcher: Fetcher;
  readonly #intake: Intake;
  readonly #membership: Membership;
  readonly #committer: Committer;
  readonly #stopping = new AbortController();
  readonly #partitionCounts = new Map<string, number>();
  #hasCrashed = false;

  constructor(kafka: ClusterClient, options: ConsumeLoopOptions) {
    this.#options = options;
    this.#cluster = kafka.openCluster('read');
    this.#joinCluster = kafka.openCluster();
    this.#intake = this.#createIntake();
    this.#fetcher = this.#createFetcher(kafka.rack);
    this.#membership = this.#createMembership();
    this.#committer = new Committer({
      clock: options.clock,
      log: options.log,
      owned: () => this.#intake.owned(),
      send: (commits) => this.#membership.commit(commits),
      onFailed: (error) => options.observer?.commitFailed?.(error),
    });
    this.#membership.start();
  }

  get joined(): boolean {
    return this.#intake.isJoined && !this.#hasCrashed && !this.#stopping.signal.aborted;
  }

  get inFlightRecords(): number {
    return this.#intake.inFlightRecords;
  }

  assigned(): readonly TopicPartition[] {
    return Array.from(this.#intake.owned(), ({ topic, partition }) => ({ topic, partition }));
  }

  lag(): readonly PartitionLag[] {
    return Array.from(this.#intake.owned(), ({ topic, partition, lag, account }) => ({
      topic,
      partition,
      records: lag,
      oldestMs: account?.tracker.oldestMs,
    }));
  }

  before(timeMs: number, nowMs: number): readonly PartitionBefore[] {
    return Array.from(this.#intake.owned(), (owned) => ({
      topic: owned.topic,
      partition: owned.partition,
      inFlight: owned.account?.tracker.inFlightBefore(timeMs) ?? 0,
      unread: owned.unreadBefore(timeMs, nowMs),
    }));
  }

  async stop(timeoutMs: number): Promise<void> {
    await waitAtMost(timeoutMs, this.#intake.close());
    this.#committer.stop();
    await this.#commitWithin(lastCommitMs);
    this.#stopping.abort();
    this.#intake.end();
    await waitAtMost(leaveMs, this.#membership.leave());
    this.#fetcher.close();
    this.#cluster.close();
    this.#joinCluster.close();
  }

  async #commitWithin(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    const isDone = async (): Promise<boolean> =>
      (await this.#committer.commit()) || performance.now() > untilMs;
    await waitAtMost(
      timeoutMs,
      (async () => {
        while (!(await isDone())) await delay(commitAgainMs, undefined, { ref: false });
      })(),
    );
  }

  #createIntake(): Intake {
    const options = this.#options;
    const { groupId, log, observer } = options;
    const { signal } = this.#stopping;
    return new Intake({
      fetcher: {
        add: (cursor) => {
          this.#fetcher.add(cursor);
        },
        remove: (cursor) => {
          this.#fetcher.remove(cursor);
        },
        pause: (cursor) => {
          this.#fetcher.pause(cursor);
        },
        resume: (cursor) => {
          this.#fetcher.resume(cursor);
        },
      },
      log,
      maxBytesPerPartition: options.maxBytesPerPartition ?? defaultMaxBytesPerPartition,
      lookUp: (partitions, placing) =>
        keepTrying(() => lookUpPositions(this.#cluster, this.#membership.coordinator, partitions), {
          what: `Cannot read the committed offsets of group ${groupId}`,
          log,
          signal: AbortSignal.any([signal, placing]),
        }),
      commit: () => this.#commitWithin(lastCommitMs),
      commitSoon: () => {
        this.#committer.soon();
      },
      onFinished: () => {
        this.#committer.finished();
      },
      rejoin: () => {
        this.#membership.rejoin();
      },
      limitsOf: (topic) =>
        options.windowOf?.(topic) ?? { records: options.windowRecords, bytes: options.windowBytes },
      budget: options.budget ?? new IntakeBudget(unlimited),
      onRecords: (records, from) => {
        this.#guarded(() => {
          options.onRecords(records, from);
        });
      },
      onAssigned: (partitions) => {
        observer?.joined?.(partitions.length);
        this.#guarded(() => options.onAssigned?.(partitions));
        this.#tellCounts();
      },
      onRevoked: (partitions) => {
        this.#guarded(() => options.onRevoked?.(partitions));
      },
      onLost: (partitions) => {
        this.#guarded(() => options.onLost?.(partitions));
      },
      onRedelivered: (records) => observer?.redelivered?.(records),
      onRecordsGone: (partition, records) => observer?.recordsGone?.(partition, records),
      onUnreadable: (partition) => observer?.unreadable?.(partition),
      onRefused: (error) => {
        this.#crash(error);
      },
      onRefreshed: () => {
        this.#tellCounts();
        void this.#readEnds();
      },
    });
  }

  #createFetcher(rack: string): Fetcher {
    const { log } = this.#options;
    return new Fetcher({
      cluster: this.#cluster,
      rack,
      log,
      owner: this.#intake,
      maxWaitMs: (_asked, leftOut) => (leftOut === 0 ? quietWaitMs : maxWaitMs),
      refreshMs,
      answered: () => {
        this.#membership.checkSession();
      },
      mayAsk: () => this.#options.mayTakeMore?.() !== false,
      mayComeLate: (topic) => this.#options.mayComeLate?.(topic) === true,
    });
  }

  #createMembership(): Membership {
    const { groupId, topics, parts, log, observer } = this.#options;
    return new Membership({
      joinCluster: this.#joinCluster,
      cluster: this.#cluster,
      groupId,
      topics,
      parts,
      log,
      signal: this.#stopping.signal,
      ownedIndices: () => this.#intake.ownedIndices(),
      assigned: (assignment, isCooperative) => {
        this.#intake.assigned(assignment, isCooperative);
      },
      expelled: () => {
        this.#intake.expelled();
        this.#guarded(() => this.#options.onExpelled?.());
      },
      unheard: (isUnheard) => {
        this.#intake.unheard(isUnheard);
        this.#guarded(() => this.#options.onUnheard?.(isUnheard));
      },
      troubled: (error) => observer?.troubled?.(error),
      refused: (error) => {
        this.#crash(error);
      },
    });
  }

  /** An error in a stage's callback is a defect. */
  #guarded(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#crash(asError(error));
    }
  }

  #crash(error: Error): void {
    if (this.#hasCrashed) return;
    this.#hasCrashed = true;
    const { log, groupId, topics } = this.#options;
    if (this.#options.onCrash !== undefined) this.#options.onCrash(error);
    else endProcess(log, error, `${topics.join(', ')} as group ${groupId}`);
  }

  #tellCounts(): void {
    for (const topic of new Set(this.assigned().map((each) => each.topic))) {
      const count = this.#cluster.topic(topic)?.partitions.length;
      if (count === undefined || this.#partitionCounts.get(topic) === count) continue;
      this.#partitionCounts.set(topic, count);
      this.#guarded(() => this.#options.onPartitionCount?.(topic, count));
    }
  }

  /** The ends of paused partitions, which are not fetched. */
  async #readEnds(): Promise<void> {
    const owned = [...this.#intake.owned()];
    for (const topic of new Set(owned.map((each) => each.topic))) {
      const ofTopic = owned.filter((each) => each.topic === topic);
      try {
        const numbers = ofTopic.map(({ partition }) => partition);
        const ends = await listOffsets(this.#cluster, topic, latestTime, numbers);
        for (const each of ofTopic) each.highWatermark = ends.get(each.partition);
      } catch (error) {
        this.#options.log.debug({ topic, reason: reasonOf(error) }, 'the lag is not known');
      }
    }
  }
}
