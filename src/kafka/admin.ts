import type { Admin } from 'kafkajs';
import { adminError, elections, retryWhileUnsettled, type Unsettled } from './admin-error.ts';
import type { KafkaClient } from './bare-client.ts';
import { decodeCommitMetadata } from './consume/commit-metadata.ts';
import { UnfinishedPart } from './consume/unfinished-part.ts';
import { kafkajs } from './kafkajs/library.ts';

/** A topic as it should be or as it is. `config` holds topic-level settings. */
export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly config: Readonly<Record<string, string>>;
}

export interface OffsetRange {
  readonly partition: number;
  /** The oldest record that is kept. */
  readonly start: number;
  /** One past the newest. */
  readonly end: number;
}

/**
 * Questions and changes that do not belong to the flow. Every method rejects with a PostriderError:
 * `kafka-unavailable` when Kafka cannot be reached, `not-found` for a topic that is missing,
 * `kafka-refused` with Kafka's reason for the rest. Open one when needed and close it: kafkajs keeps
 * asking about every topic it was ever asked about, and fails for all of them once one is deleted.
 */
export interface KafkaAdmin {
  brokerCount(): Promise<number>;
  /** Sorted. */
  topicNames(prefix?: string): Promise<string[]>;
  /** Those of the topics that exist, with all effective settings in `config`. */
  describeTopics(names: readonly string[]): Promise<Map<string, TopicSpec>>;
  /** Creates those that are missing, leaves the others as they are, and returns the names created. */
  createTopics(topics: readonly TopicSpec[]): Promise<string[]>;
  /** Keys then go to other partitions than before. */
  extendPartitions(topic: string, partitions: number): Promise<void>;
  /** Nothing happens if there is no such topic. */
  deleteTopic(topic: string): Promise<void>;
  partitionCount(topic: string): Promise<number>;
  /** In the order of partitions. */
  offsets(topic: string): Promise<OffsetRange[]>;
  /** By partition: the first offset that was appended at that time or later, else the end. */
  offsetsAt(topic: string, timeMs: number): Promise<number[]>;
  /** By topic and partition: the offset that the group reads next, -1 where it has committed none. */
  committedOffsets(groupId: string, topics: readonly string[]): Promise<Map<string, number[]>>;
  /** What the group has yet to finish of the topic, in the order of partitions. */
  unfinished(groupId: string, topic: string): Promise<UnfinishedPart[]>;
  close(): Promise<void>;
}

/** Leaders of many new topics are elected one after the other. */
const createTimeoutMs = 30_000;
/** What brokers answer about a topic that was just made, until each has heard of it and of its leaders. */
const creation: Unsettled = {
  forMs: createTimeoutMs,
  reasons: [...elections.reasons, 'UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_FOR_PARTITION'],
};

/**
 * The coordinator of a group that nobody has asked for yet, or whose broker was stopped, has to be found, and to
 * read what it coordinates; kafkajs takes its first answer.
 */
const coordination: Unsettled = {
  forMs: 10_000,
  reasons: [
    ...elections.reasons,
    'GROUP_LOAD_IN_PROGRESS',
    'GROUP_COORDINATOR_NOT_AVAILABLE',
    'NOT_COORDINATOR_FOR_GROUP',
  ],
};

/** @throws PostriderError `kafka-unavailable` */
export async function openAdmin(kafka: KafkaClient): Promise<KafkaAdmin> {
  // What is missing may only just have been made, so it is asked for again, for about 3 s.
  const admin = kafka.admin({ retry: { initialRetryTime: 100, retries: 5 } });
  try {
    await admin.connect();
  } catch (error) {
    throw adminError(error);
  }
  return new Questions(admin);
}

/** Creates those of the topics that are missing; the names created. */
export async function ensureTopics(
  kafka: KafkaClient,
  topics: readonly TopicSpec[],
): Promise<string[]> {
  return withAdmin(kafka, (admin) => admin.createTopics(topics));
}

/** For a few questions in a row. */
export async function withAdmin<T>(
  kafka: KafkaClient,
  use: (admin: KafkaAdmin) => Promise<T>,
): Promise<T> {
  const admin = await openAdmin(kafka);
  try {
    return await use(admin);
  } finally {
    await admin.close();
  }
}

class Questions implements KafkaAdmin {
  readonly #admin: Admin;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  async brokerCount(): Promise<number> {
    return ask(async () => (await this.#admin.describeCluster()).brokers.length);
  }

  async topicNames(prefix: string = ''): Promise<string[]> {
    const names = await ask(() => this.#admin.listTopics());
    return names.filter((name) => name.startsWith(prefix)).sort();
  }

  async describeTopics(names: readonly string[]): Promise<Map<string, TopicSpec>> {
    const existing = new Set(await this.topicNames());
    const topics = names.filter((name) => existing.has(name));
    if (topics.length === 0) return new Map();
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    const about = topics.join(', ');
    const { resources } = await ask(
      () =>
        this.#admin.describeConfigs({
          includeSynonyms: false,
          resources: topics.map((name) => ({ type, name })),
        }),
      about,
    );
    const metadata = await ask(() => this.#admin.fetchTopicMetadata({ topics }), about);
    const configs = new Map(resources.map((r) => [r.resourceName, r.configEntries]));
    return new Map(
      metadata.topics.map(({ name, partitions }) => [
        name,
        {
          name,
          partitions: partitions.length,
          replicationFactor: partitions[0]?.replicas.length ?? 0,
          config: Object.fromEntries(
            (configs.get(name) ?? []).map((entry) => [entry.configName, entry.configValue]),
          ),
        },
      ]),
    );
  }

  async createTopics(topics: readonly TopicSpec[]): Promise<string[]> {
    const existing = new Set(await this.topicNames());
    const missing = topics.filter(({ name }) => !existing.has(name));
    if (missing.length === 0) return [];
    await ask(
      () =>
        this.#admin.createTopics({
          timeout: createTimeoutMs,
          // kafkajs takes a topic for missing that not every broker knows yet.
          waitForLeaders: false,
          topics: missing.map(({ name, partitions, replicationFactor, config }) => ({
            topic: name,
            numPartitions: partitions,
            replicationFactor,
            configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
          })),
        }),
      missing.map(({ name }) => name).join(', '),
    );
    const created = missing.map(({ name }) => name);
    // Brokers tell who leads before the leaders know it themselves: only the leaders' own answer shows
    // that they take records.
    for (const topic of created)
      await ask(() => this.#admin.fetchTopicOffsets(topic), topic, creation);
    return created;
  }

  async extendPartitions(topic: string, partitions: number): Promise<void> {
    const topicPartitions = [{ topic, count: partitions }];
    await ask(() => this.#admin.createPartitions({ topicPartitions }), topic);
  }

  async deleteTopic(topic: string): Promise<void> {
    // For an unknown topic, kafkajs would try until its retries are used up.
    if (!(await this.topicNames(topic)).includes(topic)) return;
    await ask(() => this.#admin.deleteTopics({ topics: [topic] }), topic);
  }

  async partitionCount(topic: string): Promise<number> {
    const metadata = await ask(() => this.#admin.fetchTopicMetadata({ topics: [topic] }), topic);
    return metadata.topics[0]?.partitions.length ?? 0;
  }

  async offsets(topic: string): Promise<OffsetRange[]> {
    const offsets = await ask(() => this.#admin.fetchTopicOffsets(topic), topic);
    return offsets
      .map(({ partition, low, high }) => ({ partition, start: Number(low), end: Number(high) }))
      .sort((a, b) => a.partition - b.partition);
  }

  async offsetsAt(topic: string, timeMs: number): Promise<number[]> {
    const entries = await ask(() => this.#admin.fetchTopicOffsetsByTimestamp(topic, timeMs), topic);
    return byPartition(entries);
  }

  async committedOffsets(
    groupId: string,
    topics: readonly string[],
  ): Promise<Map<string, number[]>> {
    const offsets = await ask(
      () => this.#admin.fetchOffsets({ groupId, topics: [...topics] }),
      groupId,
      coordination,
    );
    return new Map(offsets.map(({ topic, partitions }) => [topic, byPartition(partitions)]));
  }

  async unfinished(groupId: string, topic: string): Promise<UnfinishedPart[]> {
    // The commits first: what is finished meanwhile counts as unfinished, and nothing is left out.
    const [commits] = await ask(
      () => this.#admin.fetchOffsets({ groupId, topics: [topic] }),
      groupId,
      coordination,
    );
    return (await this.offsets(topic)).map(({ partition, start, end }) => {
      const commit = commits?.partitions.find((each) => each.partition === partition);
      const next = Number(commit?.offset ?? -1);
      const { ahead } = decodeCommitMetadata(next, commit?.metadata ?? null);
      return new UnfinishedPart({ partition, start: Math.max(start, next), end }, ahead);
    });
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
  }
}

function byPartition(entries: readonly { partition: number; offset: string }[]): number[] {
  const offsets: number[] = [];
  for (const { partition, offset } of entries) offsets[partition] = Number(offset);
  return offsets;
}

/** `about`: the topic or group that is asked about, for the error. */
async function ask<T>(
  question: () => Promise<T>,
  about?: string,
  unsettled?: Unsettled,
): Promise<T> {
  try {
    return await retryWhileUnsettled(question, unsettled);
  } catch (error) {
    throw adminError(error, about);
  }
}
