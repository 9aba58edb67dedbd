import { formatDuration, parseDuration } from './duration.ts';

/**
 * Topics, consumer groups and roles as data. `postrider topics`, the manifests, the docs' tables and
 * every stage read this file; no other file spells a topic's or a group's name.
 */

export interface TopologyOptions {
  /** Stands before every topic and group name, e.g. `postrider.`. */
  readonly prefix: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** One retry topic each, shortest first. */
  readonly retryTiersMs: readonly number[];
  /** Full names of further topics to read calls from. */
  readonly extraIngestTopics: readonly string[];
}

export interface Topic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Topic-level settings that differ from, or must not depend on, the broker's defaults. */
  readonly config: Readonly<Record<string, string>>;
  /** What it holds, for `postrider topics` and the docs. */
  readonly holds: string;
}

const dayMs = 86_400_000;
const deliveryDays = 7;
const deadLetterDays = 30;
const attemptsDays = 3;
/** Of what is kept for a paused destination: somebody has to mend it, which may take a week or two. */
const pausedDays = 14;
/** Of each partition: some ten million lines. */
const attemptsBytes = 512 * 1024 * 1024;
/** Everything that holds is written anew every five minutes. */
const statusMs = 3_600_000;
const auditDays = 365;
/** Kafka removes whole segments, and by default a segment takes records for so long. */
const segmentDays = 7;
/** Marks of redrives have to outlive the letters that they are about, whose segments stay as long. */
const redriveMarkDays = deadLetterDays + segmentDays + 3;
/**
 * No event may outlive the deletion of its user: it may be among dead letters until their segment is
 * removed, and be sent again on the last day.
 */
const deletionDays = deadLetterDays + segmentDays + deliveryDays;

/** Kafka's own default for the largest record batch. */
const sourceMaxBytes = 1_048_576;
/** A copy carries more headers than its original. What is left to chance is a producer that compresses much better than we do. */
const headroomBytes = 65_536;

export interface Topology {
  readonly prefix: string;
  readonly topics: {
    readonly ingest: string;
    readonly ingestAudience: string;
    readonly ingestRejected: string;
    readonly delivery: string;
    readonly deadLetter: string;
    readonly pauses: string;
    readonly paused: string;
    readonly notices: string;
    readonly redrives: string;
    readonly attempts: string;
    readonly destinationStatus: string;
    readonly config: string;
    readonly deletions: string;
    readonly audienceMembers: string;
    readonly audienceSyncs: string;
    readonly audit: string;
  };
  /** Every topic that calls are read from. */
  readonly ingestTopics: readonly string[];
  readonly retryTiersMs: readonly number[];
  /** Of the topic that all destinations share and of dedicated ones. */
  readonly deliveryRetentionMs: number;
  /** Of what is kept for a paused destination. */
  readonly pausedRetentionMs: number;
  /** How long deletions are known. */
  readonly deletionRetentionMs: number;
  readonly groups: {
    readonly router: string;
    readonly delivery: string;
    /** Whose one member with a partition writes notices. */
    readonly notices: string;
  };
  /** All topics that must exist before a role starts. */
  readonly all: readonly Topic[];
  retryTopic(tierMs: number): string;
  /** A retry topic's delay, for topics of former tiers too; undefined if the name is none. */
  retryTierMs(topicName: string): number | undefined;
  dedicatedTopic(destinationId: string): Topic;
  /** The destination of a dedicated topic; undefined if the name is none. */
  dedicatedDestination(topicName: string): string | undefined;
  dedicatedGroup(destinationId: string): string;
  /** Whose one member may send the letters of a topic again. */
  redriveGroup(letterTopic: string): string;
  /** The right to write what is remembered of an audience in one partition of `audience-members`. */
  audienceTransaction(audienceId: string, partition: number): string;
}

/** The whole table for one deployment. */
export function createTopology(options: TopologyOptions): Topology {
  const { prefix, retryTiersMs } = options;
  const topics = {
    ingest: `${prefix}ingest`,
    ingestAudience: `${prefix}ingest.audience`,
    ingestRejected: `${prefix}ingest.rejected`,
    delivery: `${prefix}delivery`,
    deadLetter: `${prefix}dead-letter`,
    pauses: `${prefix}pauses`,
    paused: `${prefix}paused`,
    notices: `${prefix}notices`,
    redrives: `${prefix}redrives`,
    attempts: `${prefix}attempts`,
    destinationStatus: `${prefix}destination-status`,
    config: `${prefix}config`,
    deletions: `${prefix}deletions`,
    audienceMembers: `${prefix}audience-members`,
    audienceSyncs: `${prefix}audience-syncs`,
    audit: `${prefix}audit`,
  };
  const onePartition = [
    topics.config,
    topics.audienceSyncs,
    topics.destinationStatus,
    topics.pauses,
    topics.notices,
    topics.audit,
  ];
  const retryPrefix = `${prefix}retry.`;
  const dedicatedPrefix = `${topics.delivery}.`;
  const topic = (name: string, holds: string, config: Record<string, string>): Topic => ({
    name,
    holds,
    partitions: onePartition.includes(name) ? 1 : options.partitions,
    replicationFactor: options.replicationFactor,
    config: {
      // Historical call timestamps must not decide retention, and producers cannot get this clock wrong.
      'message.timestamp.type': 'LogAppendTime',
      ...(options.replicationFactor >= 3 ? { 'min.insync.replicas': '2' } : {}),
      ...config,
    },
  });
  const retryTopic = (tierMs: number): string => `${retryPrefix}${formatDuration(tierMs)}`;
  const dedicatedTopic = (destinationId: string): Topic =>
    topic(
      `${dedicatedPrefix}${destinationId}`,
      `events on their way to destination ${destinationId}`,
      kept(deliveryDays, 0),
    );

  return {
    prefix,
    topics,
    ingestTopics: [topics.ingest, topics.ingestAudience, ...options.extraIngestTopics],
    retryTiersMs,
    deliveryRetentionMs: deliveryDays * dayMs,
    pausedRetentionMs: pausedDays * dayMs,
    deletionRetentionMs: deletionDays * dayMs,
    groups: { router: `${prefix}router`, delivery: topics.delivery, notices: topics.notices },
    all: [
      topic(topics.ingest, 'calls as producers sent them', kept(7, 0)),
      topic(topics.ingestAudience, 'identify calls of audience syncs', kept(7, 0)),
      topic(topics.ingestRejected, 'calls that could not be routed, untouched', kept(14, 1)),
      topic(topics.delivery, 'events on their way to destinations', kept(deliveryDays, 0)),
      ...retryTiersMs.map((tierMs) =>
        topic(
          retryTopic(tierMs),
          `events to try again after ${formatDuration(tierMs)}`,
          kept(7, 1),
        ),
      ),
      topic(topics.deadLetter, 'events given up, with the reason', kept(deadLetterDays, 2)),
      topic(topics.pauses, 'which destinations are paused', compacted),
      topic(topics.paused, 'events kept for paused destinations', kept(pausedDays, 2)),
      topic(topics.notices, 'what was told of destinations that fail', compacted),
      topic(topics.redrives, 'what was sent again from dead letters and rejected calls', {
        ...kept(redriveMarkDays, 0),
        'cleanup.policy': 'compact,delete',
      }),
      topic(topics.attempts, 'what has happened to events: JSON lines', {
        ...kept(attemptsDays, 0),
        'retention.bytes': String(attemptsBytes),
      }),
      topic(topics.destinationStatus, 'how destinations are, as each worker sees them', {
        'cleanup.policy': 'compact,delete',
        'retention.ms': String(statusMs),
        // Whoever asks reads a few minutes; the rest goes soon, and with it what killed workers have said.
        'segment.ms': String(statusMs / 6),
      }),
      topic(topics.config, 'sources, destinations, audiences', compacted),
      topic(topics.deletions, 'deletion requests of users', {
        ...kept(deletionDays, 0),
        'cleanup.policy': 'compact,delete',
      }),
      topic(topics.audienceMembers, 'who is in which audience', {
        ...compacted,
        'delete.retention.ms': String(7 * dayMs),
      }),
      topic(topics.audienceSyncs, 'what audiences have told, and their last syncs', compacted),
      topic(topics.audit, 'what operators did in the console', kept(auditDays, 0)),
    ],
    retryTopic,
    retryTierMs: (name) =>
      name.startsWith(retryPrefix) ? parseDuration(name.slice(retryPrefix.length)) : undefined,
    dedicatedTopic,
    dedicatedDestination: (name) =>
      name.startsWith(dedicatedPrefix) ? name.slice(dedicatedPrefix.length) : undefined,
    dedicatedGroup: (destinationId) => `${dedicatedPrefix}${destinationId}`,
    redriveGroup: (letterTopic) => `${letterTopic}.redrive`,
    audienceTransaction: (audienceId, partition) =>
      `${topics.audienceMembers}.${audienceId}.${partition}`,
  };
}

const compacted = { 'cleanup.policy': 'compact' };

/** `copies`: how many hands a record has gone through since `ingest`, each of which may add headers. */
function kept(days: number, copies: number): Record<string, string> {
  return {
    'cleanup.policy': 'delete',
    'retention.ms': String(days * dayMs),
    'max.message.bytes': String(sourceMaxBytes + copies * headroomBytes),
  };
}
