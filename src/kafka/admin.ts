import type { Admin } from 'kafkajs';
import { adminError, failureOf } from './failure.ts';
import { elections, retryWhileUnsettled, type Unsettled } from './retrying.ts';
import type { KafkaClient } from './client.ts';
import { decodeCommitMetadata, UnfinishedPart } from './consume/commit-metadata.ts';
import { kafkajs } from './kafkajs/library.ts';

/** A topic as it should be, or as it is. `config` holds topic-level settings. */
export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly config: Readonly<Record<string, string>>;
}

export interface OffsetRange {
  readonly partition: number;
  /** Offset of the oldest record that is kept. */
  readonly start: number;
  /** One past the newest record. */
  readonly end: number;
}

/**
 * Requests that do not belong to the flow. Every method rejects with a PostriderError: `kafka-unavailable`
 * when Kafka cannot be reached, `not-found` for a missing topic, `kafka-refused` with Kafka's reason for the
 * rest. Open one when needed and close it: kafkajs keeps asking about every topic it was ever asked about,
 * and fails for all of them once one is deleted.
 */
export interface KafkaAdmin {
  brokerCount(): Promise<number>;
  /** Sorted. */
  topicNames(prefix?: string): Promise<string[]>;
  /** Describes the topics that exist, with all effective settings in `config`. */
  describeTopics(names: readonly string[]): Promise<Map<string, TopicSpec>>;
  /** Creates those that are missing, leaves the others as they are, and returns the names created. */
  createTopics(topics: readonly TopicSpec[]): Promise<string[]>;
  /** In one request. Keys then go to other partitions than before. */
  extendPartitions(topics: readonly Pick<TopicSpec, 'name' | 'partitions'>[]): Promise<void>;
  /** Nothing happens if there is no such topic. */
  deleteTopic(topic: string): Promise<void>;
  partitionCount(topic: string): Promise<number>;
  /** In the order of partitions. */
  offsets(topic: string): Promise<OffsetRange[]>;
  /** By partition: the first offset that was appended at that time or later, else the end. */
  offsetsAt(topic: string, timeMs: number): Promise<number[]>;
  /** By topic and partition: the offset that the group reads next, -1 where it has committed none. */
  committedOffsets(groupId: string, topics: readonly string[]): Promise<Map<string, number[]>>;
  /** The number of processes in the group; a killed one counts until its session ends. */
  memberCount(groupId: string): Promise<number>;
  /** The records of the topic that the group has yet to finish, in the order of partitions. */
  unfinished(groupId: string, topic: string): Promise<UnfinishedPart[]>;
  close(): Promise<void>;
}

/** Leaders of many new topics are elected one after the other. */
const createTimeoutMs = 30_000;
/** The errors of brokers about a new topic, until each has heard of it and of its leaders. */
const creation: Unsettled = {
  forMs: createTimeoutMs,
  reasons: [...elections.reasons, 'UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_FOR_PARTITION'],
};

/**
 * The coordinator of a group that was not requested before, or whose broker was stopped, has to be found and
 * to load its state; kafkajs gives up at its first answer.
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
  // A missing topic may have just been created, so the request is repeated for about 3 s.
  const admin = kafka.admin({ retry: { initialRetryTime: 100, retries: 5 } });
  try {
    await admin.connect();
  } catch (error) {
    throw adminError(error);
  }
  return new Questions(admin);
}

/** Creates the missing topics and returns the names created. */
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
  readonly #connected: Admin;
  #isClosed = false;

  constructor(admin: Admin) {
    this.#connected = admin;
  }

  /** kafkajs would connect again, for one that nobody closes. */
  get #admin(): Admin {
    if (this.#isClosed) throw new Error('the connection is closed');
    return this.#connected;
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
    const created = missing.map(({ name }) => name);
    await ask(() => this.#create(missing), created.join(', '));
    // Brokers report leaders before the leaders themselves are ready. Only the leaders' own answers show that
    // they accept records.
    for (const topic of missing) await ask(() => this.#answered(topic), topic.name, creation);
    return created;
  }

  /** Changes nothing about a topic that exists. */
  async #create(topics: readonly TopicSpec[]): Promise<void> {
    await this.#admin.createTopics({
      timeout: createTimeoutMs,
      // Without waiting, because kafkajs treats a topic as missing that not every broker has yet.
      waitForLeaders: false,
      topics: topics.map(({ name, partitions, replicationFactor, config }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor,
        configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
      })),
    });
  }

  async #answered(topic: TopicSpec): Promise<void> {
    try {
      await this.#admin.fetchTopicOffsets(topic.name);
    } catch (error) {
      // With ZooKeeper, a topic that is being deleted is not listed, and exists for whoever creates it.
      if (failureOf(error).reason === 'UNKNOWN_TOPIC_OR_PARTITION') await this.#create([topic]);
      throw error;
    }
  }

  async extendPartitions(topics: readonly Pick<TopicSpec, 'name' | 'partitions'>[]): Promise<void> {
    const topicPartitions = topics.map(({ name, partitions: count }) => ({ topic: name, count }));
    const about = topics.map(({ name }) => name).join(', ');
    await ask(() => this.#admin.createPartitions({ topicPartitions }), about);
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

  async memberCount(groupId: string): Promise<number> {
    const { groups } = await ask(
      () => this.#admin.describeGroups([groupId]),
      groupId,
      coordination,
    );
    return groups[0]?.members.length ?? 0;
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
    this.#isClosed = true;
    await this.#connected.disconnect();
  }
}

function byPartition(entries: readonly { partition: number; offset: string }[]): number[] {
  const offsets: number[] = [];
  for (const { partition, offset } of entries) offsets[partition] = Number(offset);
  return offsets;
}

/** @param about the topic or group of the request, for the error */
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
