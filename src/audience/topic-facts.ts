import { withAdmin } from '../kafka/admin.ts';
import { adminError, elections, retryWhileUnsettled } from '../kafka/admin-error.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { KafkaAnswerError } from '../kafka/protocol/errors.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Topology } from '../topology.ts';

/** The properties of the topics that a sync writes to. */
export interface TopicFacts {
  /** Partitions of `audience-members`. They are never added, because users would move to others. */
  readonly memberPartitions: number;
  /** The id that Kafka gave to `audience-members`. A topic of this name that is created again gets another. */
  readonly membersTopicId: string;
  readonly callPartitions: number;
  /** How long `audience-members` keeps the tombstone of a user who left. */
  readonly tombstonesKeptMs: number;
}

/** A broker may just have been lost, or have heard of the topic later than others. */
const unsettled = {
  forMs: 10_000,
  reasons: [...elections.reasons, 'UNKNOWN_TOPIC_OR_PARTITION', 'NoAnswer'],
};

/** @throws PostriderError `not-found` where a topic is missing, `kafka-unavailable` */
export async function readTopicFacts(kafka: KafkaClient, topology: Topology): Promise<TopicFacts> {
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
