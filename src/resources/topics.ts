import { withAdmin, type KafkaAdmin, type TopicSpec } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Topic, Topology } from '../topology.ts';
import { readStoredResources, type ConfigTopicAccess } from './config/config-topic.ts';
import { readableOfKind } from './config/stored-resources.ts';
import type { Destination } from './resource.ts';

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

/** One topic that should exist, or that should not. */
export interface TopicFinding {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'differs' | 'leftover';
  /** The number of partitions that the topic has, or should have. */
  readonly partitions: number;
  /** For people: what it holds, or what is wrong, each with what it should be. */
  readonly details: readonly string[];
  /** The topic to make; missing if another system makes it. */
  readonly toCreate?: Topic;
}

/**
 * Compares existing topics with the topology, the dedicated topics of `destinations`, and further ingest
 * topics, which other systems own. Topics that are no longer used are leftovers; other topics under the
 * prefix are ignored.
 */
export function diffTopics(
  topology: Topology,
  destinations: Iterable<Destination>,
  existing: readonly TopicSpec[],
): TopicFinding[] {
  const byName = new Map(existing.map((topic) => [topic.name, topic]));
  const withOwnTopic = [...destinations].filter(({ topic }) => topic === 'dedicated');
  const dedicated = withOwnTopic.map(({ id, partitions }) =>
    topology.dedicatedTopic(id, partitions),
  );
  /** The topics of destinations that say nothing of partitions keep those that they have. */
  const withAnyPartitions = new Set(
    withOwnTopic
      .filter(({ partitions }) => partitions === undefined)
      .map(({ id }) => topology.dedicatedTopic(id).name),
  );
  const wanted = [...topology.all, ...dedicated];
  const wantedNames = new Set(wanted.map(({ name }) => name));
  const ingest = byName.get(topology.topics.ingest);
  const foreign = topology.ingestTopics.filter((name) => !wantedNames.has(name));
  // A topic that is made now gets as many as those that it belongs to have.
  const shared = existing.find(({ name }) =>
    belongTogether(topology, name, topology.topics.delivery),
  );
  const asMade = (topic: Topic): Topic =>
    shared !== undefined && belongTogether(topology, topic.name, shared.name)
      ? { ...topic, partitions: shared.partitions }
      : topic;
  return [
    ...wanted.map((topic) => {
      const found = byName.get(topic.name);
      const keeps = found !== undefined && withAnyPartitions.has(topic.name);
      const meant = keeps ? { ...topic, partitions: found.partitions } : topic;
      return diffOne(topology, meant, found, asMade(topic));
    }),
    ...foreign.map((name) => diffForeign(name, byName.get(name), ingest)),
    ...existing.filter(({ name }) => !wantedNames.has(name)).flatMap(findLeftover(topology)),
  ];
}

/** The differences of the topics that are not as they should be; empty if there are none. */
export function findDifferences(findings: readonly TopicFinding[]): readonly TopicFinding[] {
  return findings.filter(({ state }) => state !== 'ok');
}

/** @param toCreate what it is made as where it is missing */
function diffOne(
  topology: Topology,
  wanted: Topic,
  existing: TopicSpec | undefined,
  toCreate: Topic,
): TopicFinding {
  const { name, holds } = wanted;
  if (existing === undefined) {
    const { partitions } = toCreate;
    return { name, state: 'missing', partitions, details: [holds], toCreate };
  }
  const differences = [
    ...diffPartitions(topology, wanted, existing),
    ...(existing.replicationFactor === wanted.replicationFactor
      ? []
      : [
          `replication factor is ${existing.replicationFactor}, should be ${wanted.replicationFactor}`,
        ]),
    ...Object.entries(wanted.config)
      .filter(([key, value]) => existing.config[key] !== value)
      .map(([key, value]) => `${key} is ${existing.config[key] ?? 'not set'}, should be ${value}`),
  ];
  return {
    name,
    state: differences.length === 0 ? 'ok' : 'differs',
    partitions: existing.partitions,
    details: differences.length === 0 ? [holds] : differences,
  };
}

function diffPartitions(topology: Topology, wanted: Topic, existing: TopicSpec): string[] {
  const { name, partitions } = wanted;
  if (existing.partitions === partitions || topology.withKeptPartitions.includes(name)) return [];
  const text = `has ${existing.partitions} partitions, should have ${partitions}`;
  const ofDestination = topology.dedicatedDestination(name);
  if (ofDestination !== undefined)
    return existing.partitions < partitions
      ? [
          `${text}: \`postrider topics add-partitions ${name} --partitions ${partitions}\` adds them, which moves keys`,
        ]
      : [
          `${text}; partitions cannot be removed, so set partitions of destination ${ofDestination} to what exists`,
        ];
  if (keepsPartitions(topology, name))
    return [`${text}; its number must not change, because its state is kept by partition`];
  return existing.partitions < partitions
    ? [
        `${text}: \`postrider topics add-partitions --partitions ${partitions}\` adds them, which moves keys; or set TOPIC_PARTITIONS to what exists`,
      ]
    : [`${text}; partitions cannot be removed, so set TOPIC_PARTITIONS to what exists`];
}

/** More partitions would part a key's later records from its earlier ones, which are state there. */
export function keepsPartitions(topology: Topology, name: string): boolean {
  return [...topology.withOnePartition, ...topology.withKeptPartitions].includes(name);
}

/**
 * Says whether two topics need the same number of partitions: partition i of `delivery` and of each
 * retry topic is read by one worker, so that a user's fresh and retried events meet there.
 */
export function belongTogether(topology: Topology, one: string, other: string): boolean {
  const isShared = (name: string): boolean =>
    name === topology.topics.delivery || topology.retryTierMs(name) !== undefined;
  return isShared(one) && isShared(other);
}

function diffForeign(
  name: string,
  existing: TopicSpec | undefined,
  ingest: TopicSpec | undefined,
): TopicFinding {
  if (existing === undefined) {
    const details = ['named in INGEST_TOPICS; whoever owns it must create it'];
    return { name, state: 'missing', partitions: 0, details };
  }
  const { config, partitions } = existing;
  const timestampType = config['message.timestamp.type'] ?? 'not set';
  const maxBytes = Number(config['max.message.bytes']);
  const allowedBytes = Number(ingest?.config['max.message.bytes']);
  const differences = [
    ...(timestampType === 'LogAppendTime'
      ? []
      : [`message.timestamp.type is ${timestampType}, should be LogAppendTime`]),
    ...(maxBytes > allowedBytes
      ? [`max.message.bytes is ${maxBytes}, should be at most ${allowedBytes}`]
      : []),
  ];
  return differences.length === 0
    ? { name, state: 'ok', partitions, details: ['calls, named in INGEST_TOPICS'] }
    : { name, state: 'differs', partitions, details: differences };
}

function findLeftover(topology: Topology): (topic: TopicSpec) => TopicFinding[] {
  return ({ name, partitions }) => {
    const leftover = (detail: string): TopicFinding[] => [
      { name, state: 'leftover', partitions, details: [detail] },
    ];
    if (topology.retryTierMs(name) !== undefined)
      return leftover('retry topic of a former tier; it is read until empty');
    const destinationId = topology.dedicatedDestination(name);
    if (destinationId !== undefined)
      return leftover(`no destination ${destinationId} has a dedicated topic`);
    return [];
  };
}
