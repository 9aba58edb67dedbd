import { withAdmin, type KafkaAdmin, type TopicSpec } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Topology } from '../topology.ts';
import { readStoredResources, type ConfigTopicAccess } from './config/config-topic.ts';
import type { Destination } from './resource.ts';
import { readableOfKind } from './config/stored-resources.ts';
import { diffTopics, type TopicFinding } from './topic-diff.ts';

/**
 * Compares the existing topics with those that should exist, including the dedicated topics of all stored
 * destinations.
 * @throws PostriderError `kafka-unavailable`
 */
export async function inspectTopics(access: ConfigTopicAccess): Promise<TopicFinding[]> {
  const { kafka, topology } = access;
  const existing = await withAdmin(kafka, (admin) => describeOurs(admin, topology));
  const hasConfig = existing.some(({ name }) => name === topology.topics.config);
  const destinations = hasConfig ? await readDestinations(access) : [];
  return diffTopics(topology, destinations, existing);
}

/** Makes what is missing. What exists stays as it is: `addPartitions` is asked for by itself. */
export async function createTopics(
  kafka: KafkaClient,
  findings: readonly TopicFinding[],
): Promise<void> {
  const missing = findings.flatMap(({ toCreate }) => toCreate ?? []);
  if (missing.length > 0) await withAdmin(kafka, (admin) => admin.createTopics(missing));
}

/** All that exists under the prefix, and further ingest topics. */
export async function describeOurs(admin: KafkaAdmin, topology: Topology): Promise<TopicSpec[]> {
  const underPrefix = await admin.topicNames(topology.prefix);
  const names = new Set([...underPrefix, ...topology.ingestTopics]);
  return [...(await admin.describeTopics([...names])).values()];
}

async function readDestinations(access: ConfigTopicAccess): Promise<Destination[]> {
  return readableOfKind(await readStoredResources(access), 'Destination');
}
