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
  /** The contents of the topic, for the docs. */
  readonly holds: string;
  /** The key of the topic's records, for the docs. */
  readonly keyedBy: string;
}

const dayMs = 86_400_000;
/**
 * The longest lifetime of a customer's link to the console. It is shorter than the audit's
 * retention, because the audit has the list of links.
 */
export const longestLinkMs: number = 90 * dayMs;
const deliveryDays = 7;
const deadLetterDays = 30;
const attemptsDays = 3;
/**
 * The retention of events of a paused destination: somebody has to mend it, which may take a week
 * or two.
 */
const pausedDays = 14;
/** The size limit of each partition of attempts: some ten million lines. */
const attemptsBytes = 512 * 1024 * 1024;
/** Everything that holds is written anew every five minutes. */
const statusMs = 3_600_000;
const auditDays = 365;
/** Kafka removes a link's record when the link has expired. */
const linkDays = longestLinkMs / dayMs + 1;
/** Then about an hour of changes is read besides the newest record of each key. */
const compactedSegmentMs = 3_600_000;
/** Kafka removes whole segments, and by default a segment takes records for so long. */
const segmentDays = 7;
/** Marks of redrives have to outlive the letters that they are about, whose segments stay as long. */
const redriveMarkDays = deadLetterDays + segmentDays + 3;
/**
 * No event may outlive the deletion of its user: it may be among dead letters until their segment is
 * removed, and be sent again on the last day.
 */
const deletionDays = deadLetterDays + segmentDays + deliveryDays;

/**
 * Three workers share the events of a heavy destination, and one that fails leaves two. Each partition of each
 * dedicated topic takes a part of a worker's memory and a place in its fetches, so more are for whoever asks for them.
 */
const dedicatedPartitions = 3;

/** Kafka's own default for the largest record batch. */
const sourceMaxBytes = 1_048_576;
/** A copy carries more headers than its original. What is left to chance is a producer that compresses much better than we do. */
const headroomBytes = 65_536;

export type RoleName = 'gateway' | 'router' | 'delivery' | 'console' | 'api';

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
    readonly suppressions: string;
    readonly audienceMembers: string;
    readonly audienceSyncs: string;
    readonly audit: string;
    readonly links: string;
  };
  /**
   * Topics whose number of partitions never changes: the records of a key are a state, and have to stay in one
   * order. These have one for ever.
   */
  readonly withOnePartition: readonly string[];
  /** And these keep the number that they were made with. */
  readonly withKeptPartitions: readonly string[];
  /** Every topic that calls are read from. */
  readonly ingestTopics: readonly string[];
  readonly retryTiersMs: readonly number[];
  /** The retention of the shared delivery topic and of dedicated ones. */
  readonly deliveryRetentionMs: number;
  /** The retention of events of a paused destination. */
  readonly pausedRetentionMs: number;
  /** The time for which deletions stay in force. */
  readonly deletionRetentionMs: number;
  readonly groups: {
    readonly router: string;
    readonly delivery: string;
    /** The group whose one member with a partition writes notices. */
    readonly notices: string;
  };
  /** All topics but dedicated ones and those of `extraIngestTopics`. */
  readonly all: readonly Topic[];
  /** The transactional id with which the one writer of `config` at a time fences the others. */
  readonly configWriter: string;
  /**
   * The topics of `all` that a role reads or writes. They must exist before it starts; it need not
   * see others.
   */
  readonly usedBy: Readonly<Record<RoleName, readonly string[]>>;
  /**
   * Says whether this deployment has such a topic, had it, or may get it, including those of any
   * tier and destination.
   */
  owns(topicName: string): boolean;
  retryTopic(tierMs: number): string;
  /** A retry topic's delay, for topics of former tiers too; undefined if the name is none. */
  retryTierMs(topicName: string): number | undefined;
  /** @param partitions default: three, or as many as other topics have if that is less */
  dedicatedTopic(destinationId: string, partitions?: number): Topic;
  /** The destination of a dedicated topic; undefined if the name is none. */
  dedicatedDestination(topicName: string): string | undefined;
  dedicatedGroup(destinationId: string): string;
  /** The group that reads a topic of events: of its destination if it is dedicated, else of all workers. */
  deliveryGroup(topicName: string): string;
  /** The group whose one member may send the letters of a topic again. */
  redriveGroup(letterTopic: string): string;
  /** The group whose one member syncs an audience. */
  audienceGroup(audienceId: string): string;
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
    suppressions: `${prefix}suppressions`,
    audienceMembers: `${prefix}audience-members`,
    audienceSyncs: `${prefix}audience-syncs`,
    audit: `${prefix}audit`,
    links: `${prefix}links`,
  };
  const withOnePartition = [
    topics.config,
    topics.audienceSyncs,
    topics.destinationStatus,
    topics.pauses,
    topics.notices,
    topics.audit,
    topics.links,
    topics.suppressions,
  ];
  const retryPrefix = `${prefix}retry.`;
  const dedicatedPrefix = `${topics.delivery}.`;
  const topic = (
    name: string,
    holds: string,
    keyedBy: string,
    config: Record<string, string>,
  ): Topic => ({
    name,
    holds,
    keyedBy,
    partitions: withOnePartition.includes(name) ? 1 : options.partitions,
    replicationFactor: options.replicationFactor,
    config: {
      // Historical call timestamps must not decide retention, and producers cannot get this clock wrong.
      'message.timestamp.type': 'LogAppendTime',
      ...(options.replicationFactor >= 3 ? { 'min.insync.replicas': '2' } : {}),
      ...config,
    },
  });
  const retryTopic = (tierMs: number): string => `${retryPrefix}${formatDuration(tierMs)}`;
  const dedicatedTopic = (
    destinationId: string,
    partitions: number = Math.min(dedicatedPartitions, options.partitions),
  ): Topic => ({
    ...topic(
      `${dedicatedPrefix}${destinationId}`,
      `events on their way to destination ${destinationId}`,
      'destination and user',
      kept(deliveryDays, 0),
    ),
    partitions,
  });

  const retryTopics = retryTiersMs.map(retryTopic);
  const ownIngestTopics = [topics.ingest, topics.ingestAudience];
  const names = new Set(Object.values(topics));
  const retryTierMs = (name: string): number | undefined =>
    name.startsWith(retryPrefix) ? parseDuration(name.slice(retryPrefix.length)) : undefined;
  const dedicatedDestination = (name: string): string | undefined =>
    name.startsWith(dedicatedPrefix) ? name.slice(dedicatedPrefix.length) : undefined;
  const dedicatedGroup = (destinationId: string): string => `${dedicatedPrefix}${destinationId}`;
  const groups = { router: `${prefix}router`, delivery: topics.delivery, notices: topics.notices };
  return {
    prefix,
    topics,
    withOnePartition,
    withKeptPartitions: [topics.audienceMembers, topics.deletions],
    ingestTopics: [...ownIngestTopics, ...options.extraIngestTopics],
    retryTiersMs,
    deliveryRetentionMs: deliveryDays * dayMs,
    pausedRetentionMs: pausedDays * dayMs,
    deletionRetentionMs: deletionDays * dayMs,
    groups,
    all: [
      topic(topics.ingest, 'calls as producers sent them', 'user id', kept(7, 0)),
      topic(topics.ingestAudience, 'calls of audience syncs', 'user id', kept(7, 0)),
      topic(
        topics.ingestRejected,
        'calls that could not be routed, unchanged, with the reason',
        'as received',
        kept(14, 1),
      ),
      topic(
        topics.delivery,
        'events on their way to destinations: the exact bytes to send',
        'destination and user',
        kept(deliveryDays, 0),
      ),
      ...retryTiersMs.map((tierMs) =>
        topic(
          retryTopic(tierMs),
          `events to try again after ${formatDuration(tierMs)}`,
          'destination and user',
          kept(7, 1),
        ),
      ),
      topic(
        topics.deadLetter,
        'events that were given up, with the reason',
        'destination and user',
        kept(deadLetterDays, 2),
      ),
      topic(
        topics.pauses,
        'which destinations are paused or recalled, and which destination has an id',
        'destination id',
        compacted,
      ),
      topic(
        topics.paused,
        'events kept for paused destinations',
        'destination and user',
        kept(pausedDays, 2),
      ),
      topic(topics.notices, 'notices about destinations that fail', 'destination id', compacted),
      topic(
        topics.redrives,
        'which dead letters and rejected calls were sent again',
        'place of the letter',
        {
          ...kept(redriveMarkDays, 0),
          'cleanup.policy': 'compact,delete',
        },
      ),
      topic(topics.attempts, 'what happened to events, as JSON lines', 'none', {
        ...kept(attemptsDays, 0),
        'retention.bytes': String(attemptsBytes),
      }),
      topic(
        topics.destinationStatus,
        'state of each destination, as each worker sees it',
        'destination and worker',
        {
          'cleanup.policy': 'compact,delete',
          'retention.ms': String(statusMs),
          // Whoever asks reads a few minutes; the rest goes soon, and with it what killed workers have said.
          'segment.ms': String(statusMs / 6),
        },
      ),
      topic(
        topics.config,
        'sources, destinations, audiences and computed traits',
        'kind and id',
        compacted,
      ),
      topic(topics.deletions, 'which users were deleted', 'source and user', {
        ...kept(deletionDays, 0),
        'cleanup.policy': 'compact,delete',
      }),
      topic(topics.suppressions, 'which users are suppressed', 'user', compacted),
      // As large as its audiences, and read from a checkpoint: compacting it as often would rewrite all of it.
      topic(topics.audienceMembers, 'who is in which audience', 'audience and user', {
        'cleanup.policy': 'compact',
        'delete.retention.ms': String(7 * dayMs),
      }),
      topic(
        topics.audienceSyncs,
        'what audiences sent, and their last syncs',
        'audience',
        compacted,
      ),
      topic(
        topics.audit,
        'who did what, and which links lead to one destination',
        'user',
        kept(auditDays, 0),
      ),
      topic(topics.links, "customers' links to all of their destinations", 'link', {
        ...compacted,
        'cleanup.policy': 'compact,delete',
        'retention.ms': String(linkDays * dayMs),
      }),
    ],
    configWriter: `${topics.config}.writer`,
    usedBy: {
      gateway: [topics.config, topics.ingest, topics.ingestRejected],
      router: [
        topics.config,
        ...ownIngestTopics,
        topics.ingestRejected,
        topics.delivery,
        topics.audienceSyncs,
        topics.suppressions,
      ],
      delivery: [
        topics.config,
        topics.deletions,
        topics.delivery,
        ...retryTopics,
        topics.deadLetter,
        topics.pauses,
        topics.paused,
        topics.attempts,
        topics.destinationStatus,
        topics.notices,
      ],
      console: [
        topics.config,
        ...ownIngestTopics,
        topics.ingestRejected,
        topics.delivery,
        ...retryTopics,
        topics.deletions,
        topics.suppressions,
        topics.deadLetter,
        topics.redrives,
        topics.pauses,
        topics.paused,
        topics.attempts,
        topics.destinationStatus,
        topics.notices,
        topics.audienceSyncs,
        topics.audit,
        topics.links,
      ],
      api: [
        topics.config,
        topics.delivery,
        ...retryTopics,
        topics.deletions,
        topics.suppressions,
        topics.deadLetter,
        topics.redrives,
        topics.pauses,
        topics.paused,
        topics.attempts,
        topics.destinationStatus,
        topics.audit,
        topics.links,
      ],
    },
    owns: (name) =>
      names.has(name) ||
      retryTierMs(name) !== undefined ||
      dedicatedDestination(name) !== undefined,
    retryTopic,
    retryTierMs,
    dedicatedTopic,
    dedicatedDestination,
    dedicatedGroup,
    deliveryGroup: (name) => {
      const destinationId = dedicatedDestination(name);
      return destinationId === undefined ? groups.delivery : dedicatedGroup(destinationId);
    },
    redriveGroup: (letterTopic) => `${letterTopic}.redrive`,
    audienceGroup: (audienceId) => `${prefix}audience-sync.${audienceId}`,
    audienceTransaction: (audienceId, partition) =>
      `${topics.audienceMembers}.${audienceId}.${partition}`,
  };
}

/**
 * Roles and commands read these topics from their beginning whenever they start, so superseded records should go
 * soon. Kafka compacts only segments that are closed, by default after 7 days, and only once half of what they
 * hold is new.
 */
const compacted = {
  'cleanup.policy': 'compact',
  'segment.ms': String(compactedSegmentMs),
  'min.cleanable.dirty.ratio': '0.1',
};

/** `copies`: how many hands a record has gone through since `ingest`, each of which may add headers. */
function kept(days: number, copies: number): Record<string, string> {
  return {
    'cleanup.policy': 'delete',
    'retention.ms': String(days * dayMs),
    'max.message.bytes': String(sourceMaxBytes + copies * headroomBytes),
  };
}
