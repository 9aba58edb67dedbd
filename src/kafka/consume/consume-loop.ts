import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { waitAtMost } from '../../ops/wait-at-most.ts';
import { BrokerOffsets } from './broker-offsets.ts';
import type { KafkaClient } from '../client.ts';
import { Committer } from './committer.ts';
import type { ConsumedRecord } from './consumed-record.ts';
import { endProcess } from '../crash.ts';
import { GroupMembership } from './group-membership.ts';
import { Intake } from './intake.ts';
import { readPatiently } from '../kafkajs/patient-topics.ts';
import { keepTrying, reasonOf } from '../keep-trying.ts';
import { lookUpPositions } from './positions.ts';
import type { TopicPartition } from '../record.ts';
import type { WindowLimits } from './window.ts';

export interface ConsumeLoopOptions {
  /** At most one loop per group and Kafka client: kafkajs keeps a group's offsets in the client. */
  readonly groupId: string;
  /** Topics that do not exist are left out, with a warning, until they do. */
  readonly topics: readonly string[];
  /** Per partition: intake pauses at these, and resumes at half. One fetched batch may exceed them. */
  readonly windowRecords: number;
  readonly windowBytes: number;
  /** Other limits for some of the topics; undefined: the ones above. */
  windowOf?(topic: string): WindowLimits | undefined;
  /** Topics whose records may come a fifth of a second late: they are asked for less often. */
  mayComeLate?(topic: string): boolean;
  /** The most that one fetch brings of one partition, compressed. Default 1 MiB. */
  readonly maxBytesPerPartition?: number;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Newly accepted records of one partition, in offset order. Must return at once and not throw;
   * every record must be finished once.
   */
  onRecords(records: ConsumedRecord[]): void;
  /** After every join, before the first record: all partitions now owned. */
  onAssigned?(partitions: TopicPartition[]): void;
  /** Somebody else's now, or to be read again from an earlier offset: drop queued work of them. */
  onLost?(partitions: TopicPartition[]): void;
  /** How many partitions a topic has of which some are owned: soon after a join, and when it has changed. */
  onPartitionCount?(topic: string, partitions: number): void;
  /** The loop is dead and cannot restart itself. By default the process ends with code 1. */
  onCrash?(error: Error): void;
  /** For metrics. */
  readonly observer?: ConsumeObserver;
}

/** Things that happen, for whoever counts them. */
export interface ConsumeObserver {
  joined?(partitions: number): void;
  /** kafkajs gave up and starts again by itself. */
  restarted?(error: Error): void;
  /** A batch from a position that is not ours: dropped, and read again from the right one. */
  batchDropped?(partition: TopicPartition): void;
  /** It is tried again a second later. */
  commitFailed?(error: Error): void;
}

export interface PartitionLag extends TopicPartition {
  /** Records between the finished prefix and the high watermark, those in flight included. */
  readonly records: number;
  /** When the oldest record in flight was appended; undefined where none is. */
  readonly oldestMs: number | undefined;
}

export interface ConsumeLoop {
  /** True from the moment when all partitions have their positions until the next rebalance. */
  readonly joined: boolean;
  assigned(): readonly TopicPartition[];
  /** Accepted and not finished. */
  readonly inFlightRecords: number;
  readonly inFlightBytes: number;
  /** Of every owned partition; at most 15 s old for those that bring nothing. */
  lag(): readonly PartitionLag[];
  /** Extra pauses, beside the window's own; gone when the partition is lost. One more batch may arrive. */
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
  /**
   * Stops the intake, waits until everything accepted is finished or `timeoutMs` is over, commits
   * and leaves the group.
   */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * Reads topics as a member of a group, from each partition's committed offset, else from its
 * beginning. Resolves at once: Kafka being away is retried, with a log line, until `stop`.
 */
export function startConsumeLoop(
  kafka: KafkaClient,
  options: ConsumeLoopOptions,
): Promise<ConsumeLoop> {
  return Promise.resolve(new GroupConsumeLoop(kafka, options));
}

const defaultMaxBytesPerPartition = 1_048_576;
/** How old the high watermark may be of a partition that brings nothing. */
const rangesMs = 15_000;
/** A broker that hangs keeps a commit waiting for 20 s, and again, and kafkajs from stopping while it fetches. */
const leaveMs = 5_000;

/** Wires the parts: membership hears kafkajs, intake decides, committer commits. */
class GroupConsumeLoop implements ConsumeLoop {
  readonly #options: ConsumeLoopOptions;
  readonly #offsets: BrokerOffsets;
  readonly #intake: Intake;
  readonly #membership: GroupMembership;
  readonly #committer: Committer;
  readonly #stopping = new AbortController();
  #rangesTimer: Timer | undefined;
  readonly #partitionCounts = new Map<string, number>();

  constructor(kafka: KafkaClient, options: ConsumeLoopOptions) {
    const { clock, log, observer } = options;
    this.#options = options;
    for (const topic of options.topics)
      if (options.mayComeLate?.(topic) === true) readPatiently(topic);
    this.#offsets = new BrokerOffsets(kafka);
    this.#intake = this.#createIntake();
    this.#committer = new Committer({
      clock,
      log,
      owned: () => this.#intake.owned(),
      find: (topic, partition) => this.#intake.find(topic, partition),
      send: (offsets) => this.#membership.commit(offsets),
      held: (partitions) => this.#offsets.committed(options.groupId, partitions),
      onMoved: (partition) => {
        this.#intake.reposition(partition);
      },
      onFailed: (error) => observer?.commitFailed?.(error),
    });
    this.#membership = this.#createMembership(kafka);
    this.#committer.start();
    this.#readRangesRegularly();
    this.#membership.start();
  }

  get joined(): boolean {
    return this.#intake.joined;
  }

  get inFlightRecords(): number {
    return this.#intake.inFlightRecords;
  }

  get inFlightBytes(): number {
    return this.#intake.inFlightBytes;
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

  pause(partition: TopicPartition): void {
    this.#intake.hold(partition, true);
  }

  resume(partition: TopicPartition): void {
    this.#intake.hold(partition, false);
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    this.#rangesTimer?.cancel();
    await waitAtMost(timeoutMs, this.#intake.close());
    this.#committer.stop();
    await waitAtMost(leaveMs, this.#commitAndLeave());
    this.#intake.joined = false;
    this.#offsets.close();
  }

  async #commitAndLeave(): Promise<void> {
    // Before leaving the group: after that, kafkajs drops a commit without a word.
    await this.#committer.commit();
    await this.#membership.leave();
  }

  #createIntake(): Intake {
    const options = this.#options;
    const stopping = this.#stopping;
    const { groupId, log, observer } = options;
    return new Intake({
      control: {
        seek: (partition, offset) => {
          this.#membership.seek(partition, offset);
        },
        pause: (partition) => {
          this.#membership.pause(partition);
        },
        resume: (partition) => {
          this.#membership.resume(partition);
        },
      },
      lookUp: (partitions, isVoid) =>
        keepTrying(() => lookUpPositions(this.#offsets, groupId, partitions), {
          what: `Cannot read the committed offsets of group ${groupId}`,
          log,
          signal: AbortSignal.any([stopping.signal, isVoid]),
        }),
      limitsOf: (topic) =>
        options.windowOf?.(topic) ?? { records: options.windowRecords, bytes: options.windowBytes },
      onRecords: (records) => {
        this.#guarded(() => {
          options.onRecords(records);
        });
      },
      onAssigned: (partitions) => {
        observer?.joined?.(partitions.length);
        this.#guarded(() => options.onAssigned?.(partitions));
      },
      onLost: (partitions) => {
        this.#guarded(() => options.onLost?.(partitions));
      },
      onPlaced: () => {
        void this.#committer.commit();
        void this.#readRanges();
      },
      onDropped: (partition) => observer?.batchDropped?.(partition),
    });
  }

  #createMembership(kafka: KafkaClient): GroupMembership {
    const options = this.#options;
    const intake = this.#intake;
    const committer = this.#committer;
    const { groupId, topics, clock, log, observer } = options;
    return new GroupMembership({
      kafka,
      groupId,
      topics,
      maxBytesPerPartition: options.maxBytesPerPartition ?? defaultMaxBytesPerPartition,
      clock,
      log,
      offsets: this.#offsets,
      signal: this.#stopping.signal,
      ownedIndices: () => [...new Set(this.assigned().map(({ partition }) => partition))],
      beforeLeaving: () => committer.commit(),
      onRestart: (error) => {
        intake.joined = false;
        observer?.restarted?.(error);
      },
      onCrash: (error) => {
        this.#crash(error);
      },
      events: {
        joined: (assignment) => {
          intake.onJoin(assignment);
        },
        rebalancing: () => {
          intake.joined = false;
          void committer.commit();
        },
        batch: (batch) => {
          intake.onBatch(batch);
        },
        committed: (offsets) => {
          committer.committed(offsets);
        },
      },
    });
  }

  /** An error in a stage's callback is a defect; inside kafkajs it would be retried. */
  #guarded(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#crash(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #crash(error: Error): void {
    this.#intake.joined = false;
    const { log, groupId, topics } = this.#options;
    if (this.#options.onCrash !== undefined) this.#options.onCrash(error);
    else endProcess(log, error, `${topics.join(', ')} as group ${groupId}`);
  }

  #readRangesRegularly(): void {
    this.#rangesTimer = this.#options.clock.after(rangesMs, () => {
      void this.#readRanges().then(() => {
        if (!this.#stopping.signal.aborted) this.#readRangesRegularly();
      });
    });
  }

  /** One request per topic: a paused or idle partition's lag is known only from here. */
  async #readRanges(): Promise<void> {
    const topics = new Set(this.assigned().map(({ topic }) => topic));
    for (const topic of topics) {
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#intake.refresh(topic, async () => {
          const ranges = await this.#offsets.ranges(topic);
          this.#counted(topic, ranges.size);
          return ranges;
        });
      } catch (error) {
        this.#options.log.debug({ topic, reason: reasonOf(error) }, 'the lag is not known');
      }
    }
  }

  #counted(topic: string, partitions: number): void {
    if (this.#partitionCounts.get(topic) === partitions) return;
    this.#partitionCounts.set(topic, partitions);
    this.#guarded(() => this.#options.onPartitionCount?.(topic, partitions));
  }
}
