import { PostriderError } from '../errors.ts';
import { adminError } from '../kafka/failure.ts';
import { elections, retryWhileUnsettled } from '../kafka/retrying.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { KafkaAnswerError } from '../kafka/protocol/errors.ts';
import { readRange } from '../kafka/read-range.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import {
  decodeAudienceRecord,
  emptyRecord,
  encodeAudienceRecord,
  type AudienceRecord,
} from '../resources/audiences/record.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Topology } from '../topology.ts';
import { memberPartition } from './membership.ts';
import { PartitionWriters } from './partition-writers.ts';
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
  /** Memberships read, or changes sent. */
  readonly done: number;
}

export interface OpenOptions {
  /** The folder of checkpoints; undefined: none are kept. */
  readonly directory: string | undefined;
  /** The only folder that lists are read from, after links are followed. */
  readonly filesDir: string;
  /** Nothing is written, and a sync that runs meanwhile is not stopped. */
  readonly dryRun: boolean;
}

/** An audience or computed trait that only this run may write about; in a dry run, one that it only reads. */
export interface OpenAudience {
  readonly id: string;
  readonly facts: TopicFacts;
  readonly workspace: Workspace;
  readonly record: AudienceRecord;
  /** The time at which this run began, by Kafka's clock. Everything older has been read. */
  readonly sinceMs: number;
  /**
   * The end of each partition of `audience-members`: behind everything that was written before, and by this
   * run.
   */
  readonly ends: ReadonlyMap<number, number>;
  partitionOf(userId: string): number;
  /** Commits the records together. Those of `audience-members` are all in this partition. */
  write(partition: number, records: readonly PlacedRecord[]): Promise<void>;
  /**
   * Null removes the record.
   * @param together records of partition 0 that are committed with it
   */
  save(record: AudienceRecord | null, together?: readonly PlacedRecord[]): Promise<void>;
}

/**
 * Opens an audience for one run, and stops any earlier run of it.
 * @throws PostriderError `fenced` when a newer one has begun; what `use` throws
 */
export async function withAudience<T>(
  deps: SyncDeps,
  id: string,
  options: OpenOptions,
  use: (audience: OpenAudience) => Promise<T>,
): Promise<T> {
  const { kafka, topology, onProgress } = deps;
  onProgress({ stage: 'fencing', done: 0 });
  const facts = await readTopicFacts(kafka, topology);
  const name = `${topology.prefix}${id}`;
  const workspace = await openWorkspace({ name, ...options });
  const writers = new PartitionWriters(topology, id);
  try {
    const ends = options.dryRun ? await presentEnds(deps) : writers.ends;
    if (!options.dryRun) await writers.take(kafka, facts.memberPartitions);
    const { record, sinceMs } = await readRecord(deps, id, options.dryRun ? undefined : writers);
    return await use({
      id,
      facts,
      workspace,
      ends,
      record,
      sinceMs,
      partitionOf: (userId) => memberPartition(id, userId, facts.memberPartitions),
      write: (partition, records) => writers.write(partition, records),
      save: (changed, together = []) => {
        const value = changed === null ? null : encodeAudienceRecord(changed);
        const place = { topic: topology.topics.audienceSyncs, partition: 0 };
        return writers.write(0, [{ ...place, key: id, value }, ...together]);
      },
    });
  } catch (error) {
    throw explainFenced(id, error);
  } finally {
    await Promise.all([workspace.close(), writers.close()]);
  }
}

/** A dry run has no right to write a marker, so it uses the present ends, which may move. */
async function presentEnds({ kafka, topology }: SyncDeps): Promise<ReadonlyMap<number, number>> {
  const offsets = await withAdmin(kafka, (admin) => admin.offsets(topology.topics.audienceMembers));
  return new Map(offsets.map(({ partition, end }) => [partition, end]));
}

/** The last record of all is the marker that this run has written; a dry run has none. */
async function readRecord(
  { kafka, topology, clock }: SyncDeps,
  id: string,
  writers: PartitionWriters | undefined,
): Promise<{ readonly record: AudienceRecord; readonly sinceMs: number }> {
  const topic = topology.topics.audienceSyncs;
  const kept = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const ranges = kept.map((range) => ({ ...range, end: writers?.recordEnd ?? range.end }));
  let record = emptyRecord;
  let sinceMs = clock.now();
  for await (const { key, value, timestampMs } of readRange(kafka, { topic, ranges })) {
    if (writers !== undefined) sinceMs = timestampMs;
    if (key?.toString() !== id) continue;
    record = value === null ? emptyRecord : decodeAudienceRecord(id, value.toString());
  }
  return { record, sinceMs };
}

function explainFenced(id: string, error: unknown): unknown {
  if (!(error instanceof PostriderError) || error.code !== 'fenced') return error;
  const message = `${id}: this sync stopped because a newer one of the same audience began; what it sent is recorded and is not sent again (${error.message})`;
  return new PostriderError('fenced', message, { cause: error });
}

/** The properties of the topics that a sync writes to. */
interface TopicFacts {
  /** Partitions of `audience-members`. They are never added, because users would move to others. */
  readonly memberPartitions: number;
  /** The id that Kafka gave to `audience-members`. A topic of this name that is created again gets another. */
  readonly membersTopicId: string;
  readonly callPartitions: number;
  /** The time for which `audience-members` keeps the tombstone of a user who left. */
  readonly tombstonesKeptMs: number;
}

/** A broker may just have been lost, or have heard of the topic later than others. */
const unsettled = {
  forMs: 10_000,
  reasons: [...elections.reasons, 'UNKNOWN_TOPIC_OR_PARTITION', 'NoAnswer'],
};

/** @throws PostriderError `not-found` where a topic is missing, `kafka-unavailable` */
async function readTopicFacts(kafka: KafkaClient, topology: Topology): Promise<TopicFacts> {
  const { audienceMembers, ingestAudience, audienceSyncs, deletions } = topology.topics;
  const needed = [audienceMembers, ingestAudience, audienceSyncs, deletions];
  await requireTopics(
    kafka,
    needed.map((name) => ({ name })),
  );
  const found = await withAdmin(kafka, (admin) =>
    admin.describeTopics([audienceMembers, ingestAudience]),
  );
  const members = found.get(audienceMembers);
  return {
    memberPartitions: members?.partitions ?? 0,
    membersTopicId: await readTopicId(kafka, audienceMembers),
    callPartitions: found.get(ingestAudience)?.partitions ?? 0,
    tombstonesKeptMs: Number(members?.config['delete.retention.ms'] ?? 0),
  };
}

async function readTopicId(kafka: KafkaClient, topic: string): Promise<string> {
  const cluster = kafka.openCluster();
  try {
    return await retryWhileUnsettled(async () => {
      await cluster.refresh([topic]);
      const found = cluster.topic(topic);
      if (found !== undefined) return found.id;
      throw new KafkaAnswerError(cluster.topicError(topic) ?? 'UNKNOWN_TOPIC_OR_PARTITION', topic);
    }, unsettled);
  } catch (error) {
    throw adminError(error, topic);
  } finally {
    cluster.close();
  }
}
