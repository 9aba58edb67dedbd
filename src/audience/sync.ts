import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { PostriderError } from '../errors.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { Topology } from '../topology.ts';
import { applyChanges, findChanges, readChanges } from './changes.ts';
import { loadState, saveState, type CheckpointSubject } from './checkpoint.ts';
import { IdentifyCalls, type Baseline } from './identify.ts';
import { membershipKey } from './membership.ts';
import { keepOwn } from './owned-users.ts';
import { PartitionWriters } from './partition-writers.ts';
import { replay } from './replay.ts';
import { objectionTo, type SafetyLimits, type SyncCounts } from './safety.ts';
import { sendChanges } from './send-changes.ts';
import { ownPartitions, shardName, type Shard } from './shard.ts';
import type { Change, SyncTarget } from './sync-target.ts';
import { readTopicFacts, type TopicFacts } from './topic-facts.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

export interface SyncDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onProgress: (progress: SyncProgress) => void;
}

export interface SyncProgress {
  readonly stage: 'fencing' | 'remembering' | 'reading' | 'comparing' | 'sending';
  /** Records remembered, changes sent. */
  readonly done: number;
}

export interface SyncOptions extends SafetyLimits {
  readonly shard: Shard;
  /** Where checkpoints are kept; undefined: nowhere. */
  readonly directory: string | undefined;
  /** Nothing is sent, and a sync that runs meanwhile goes on. */
  readonly dryRun: boolean;
  /** Whether calls are made about users who did not change, and for which destination alone. */
  readonly baseline: Baseline | undefined;
  readonly changesPerTransaction: number;
}

export interface SyncResult extends SyncCounts {
  /** As in the calls' `context.audience.sync`. */
  readonly sync: string;
  /** Calls that would be larger than the pipeline takes: not sent, and tried again by the next sync. */
  readonly tooLarge: number;
  /** Why the checkpoint was of no use; undefined if it was. */
  readonly rebuilt: string | undefined;
  /** Some of the changes. */
  readonly sample: readonly Change[];
  readonly durationMs: number;
}

/**
 * Leaves the data as a table `current (user_id, value)`, one row a user. `tempFolder`: of its own, need
 * not exist, and is gone afterwards.
 */
type ReadCurrent = (connection: DuckDBConnection, tempFolder: string) => Promise<void>;

const sampleSize = 10;

/**
 * One sync of one audience: what is in its data now against what was emitted last, one call for each
 * user of whom it differs.
 *
 * @throws PostriderError `fenced` when a newer sync has begun; `input-invalid` when the data is more
 * likely broken than true, before anything is sent; what reading the data and writing to Kafka throw.
 * Whatever was sent is remembered, so that the next sync goes on behind it.
 */
export async function syncAudience(
  deps: SyncDeps,
  target: SyncTarget,
  options: SyncOptions,
  readCurrent: ReadCurrent,
): Promise<SyncResult> {
  const { topology } = deps;
  const name = `${topology.prefix}${target.id}${shardName(options.shard)}`;
  if (options.directory !== undefined) await mkdir(options.directory, { recursive: true });
  // A dry run takes nothing from a sync that runs.
  const workName = options.dryRun ? `${name}.dry-run` : name;
  const workspace = await openWorkspace(options.directory, workName);
  const writers = new PartitionWriters(topology.topics.audienceMembers, target);
  const checkpoint =
    options.directory === undefined ? undefined : join(options.directory, `${name}.duckdb`);
  const sync = new Sync({ ...deps, ...options, target, workspace, writers, checkpoint });
  try {
    return await sync.run(readCurrent);
  } catch (error) {
    const isFenced = error instanceof PostriderError && error.code === 'fenced';
    if (!isFenced && (await workspace.isThere())) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `${target.kind} ${target.id}: a newer sync of it has begun and this one has stopped; what was sent is remembered, and nothing is sent twice (${reason})`;
    throw new PostriderError('fenced', message, { cause: error });
  } finally {
    await Promise.all([workspace.close(), writers.close()]);
  }
}

interface Parts extends SyncDeps, SyncOptions {
  readonly target: SyncTarget;
  readonly workspace: Workspace;
  readonly writers: PartitionWriters;
  readonly checkpoint: string | undefined;
}

class Sync {
  readonly #parts: Parts;
  readonly #connection: DuckDBConnection;
  readonly #startedMs: number;
  readonly #stateFile: string;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#connection = parts.workspace.database.connection;
    this.#startedMs = parts.clock.now();
    this.#stateFile = parts.workspace.file('state.duckdb');
  }

  async run(readCurrent: ReadCurrent): Promise<SyncResult> {
    const { kafka, topology, target, shard, dryRun, baseline } = this.#parts;
    const sync = `${new Date(this.#startedMs).toISOString()}-${randomBytes(4).toString('hex')}`;
    this.#progress('fencing');
    const facts = await readTopicFacts(kafka, topology);
    const partitions = ownPartitions(shard, facts.memberPartitions);
    if (partitions.length === 0)
      throw new PostriderError(
        'input-invalid',
        `there are ${facts.memberPartitions} partitions of audience-members for ${shard.count} shards; allowed: at most as many shards`,
      );
    const memberPartitionOf = (userId: string): number =>
      partitionOf(membershipKey(target, userId), facts.memberPartitions);

    const rebuilt = await this.#remember(partitions, facts);
    this.#progress('reading');
    await readCurrent(this.#connection, this.#parts.workspace.file('reading'));
    if (shard.count > 1) {
      const own = new Set(partitions);
      await keepOwn(this.#connection, (userId) => own.has(memberPartitionOf(userId)));
    }

    this.#progress('comparing');
    const counts = await findChanges(this.#connection, baseline !== undefined);
    const objection = objectionTo(target, counts, this.#parts);
    if (objection !== undefined) throw new PostriderError('input-invalid', objection);
    const sample: Change[] = [];
    for await (const some of readChanges(this.#connection, sampleSize)) sample.push(...some);

    const leftOut = dryRun ? [] : await this.#send(sync, facts, memberPartitionOf);
    if (!dryRun) await this.#save(partitions, facts, leftOut);
    const durationMs = this.#parts.clock.now() - this.#startedMs;
    return { ...counts, sync, tooLarge: leftOut.length, rebuilt, sample, durationMs };
  }

  /**
   * Leaves what was emitted before as `state.members`. Only once no earlier sync can write any more is
   * what they have written known.
   */
  async #remember(partitions: readonly number[], facts: TopicFacts): Promise<string | undefined> {
    const { kafka, topology, target, writers, dryRun, checkpoint } = this.#parts;
    const topic = topology.topics.audienceMembers;
    if (!dryRun) await writers.take(kafka, topology, partitions);
    const ends = dryRun ? await this.#committedEnds(topic, partitions) : new Map(writers.ends);
    const { rebuilt, positions } = await loadState(
      this.#connection,
      checkpoint,
      this.#stateFile,
      this.#subject(partitions, facts, ends),
    );
    let done = 0;
    await replay({
      ...{ kafka, connection: this.#connection, topic, target, positions, ends },
      onRecord: () => {
        done += 1;
        this.#progress('remembering', done);
      },
    });
    return rebuilt;
  }

  /** Without a right to write there is no end that nobody can move: as far as it goes now. */
  async #committedEnds(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, number>> {
    const offsets = await withAdmin(this.#parts.kafka, (admin) => admin.offsets(topic));
    return new Map(
      offsets
        .filter(({ partition }) => partitions.includes(partition))
        .map(({ partition, end }) => [partition, end]),
    );
  }

  async #send(
    sync: string,
    { callPartitions }: TopicFacts,
    memberPartitionOf: (userId: string) => number,
  ): Promise<readonly string[]> {
    const { topology, target, writers, baseline } = this.#parts;
    const { ingestAudience: callTopic, audienceMembers: membersTopic } = topology.topics;
    const timeMs = this.#startedMs;
    let done = 0;
    return sendChanges({
      ...{ connection: this.#connection, target, membersTopic, partitionOf: memberPartitionOf },
      calls: new IdentifyCalls({
        ...{ target, sync, timeMs, callTopic, callPartitions, baseline },
      }),
      changesPerTransaction: this.#parts.changesPerTransaction,
      write: (partition, records) => writers.write(partition, records),
      onSent: (changes) => {
        done += changes;
        this.#progress('sending', done);
      },
    });
  }

  /** All is sent and remembered in the topic: without the checkpoint, the next sync only takes longer. */
  async #save(
    partitions: readonly number[],
    facts: TopicFacts,
    leftOut: readonly string[],
  ): Promise<void> {
    const { checkpoint, writers, log } = this.#parts;
    if (checkpoint === undefined) return;
    try {
      await applyChanges(this.#connection, leftOut);
      const subject = this.#subject(partitions, facts, writers.ends);
      await saveState(this.#connection, checkpoint, this.#stateFile, subject);
    } catch (error) {
      log.warn({ err: error, checkpoint }, 'the checkpoint could not be written');
    }
  }

  #subject(
    partitions: readonly number[],
    { memberPartitions, tombstonesKeptMs }: TopicFacts,
    ends: ReadonlyMap<number, number>,
  ): CheckpointSubject {
    const { topology, target } = this.#parts;
    return {
      name: `${topology.topics.audienceMembers} ${target.id}, ${partitions.join(' ')} of ${memberPartitions}`,
      ends,
      nowMs: this.#startedMs,
      maxAgeMs: tombstonesKeptMs / 2,
    };
  }

  #progress(stage: SyncProgress['stage'], done: number = 0): void {
    this.#parts.onProgress({ stage, done });
  }
}
