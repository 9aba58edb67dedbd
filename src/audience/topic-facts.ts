import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Topology } from '../topology.ts';

/** The properties of the topics that a sync writes to. */
export interface TopicFacts {
  /** Partitions of `audience-members`. They are never added, because users would move to others. */
  readonly memberPartitions: number;
  readonly callPartitions: number;
  /** How long `audience-members` keeps the tombstone of a user who left. */
  readonly tombstonesKeptMs: number;
}

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
    callPartitions: found.get(ingestAudience)?.partitions ?? 0,
    tombstonesKeptMs: Number(members?.config['delete.retention.ms'] ?? 0),
  };
}
