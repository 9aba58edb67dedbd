import type { TopicSpec } from '../kafka/admin.ts';
import type { Topic, Topology } from '../topology.ts';
import type { Destination } from './resource.ts';

/** One topic that should exist, or that should not. */
export interface TopicFinding {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'differs' | 'leftover';
  /** What is there, or should be. */
  readonly partitions: number;
  /** For people: what it holds, or what is wrong, each with what it should be. */
  readonly details: readonly string[];
  /** How many partitions it may be given. */
  readonly addPartitionsTo?: number;
  /** How to make it; missing where it is another system's. */
  readonly toCreate?: Topic;
}

/**
 * What exists against what should: the topology, the dedicated topics of `destinations`, and further
 * ingest topics, which other systems own. Topics that nothing uses any more are leftovers; other
 * topics under the prefix are nobody's business here.
 */
export function diffTopics(
  topology: Topology,
  destinations: Iterable<Destination>,
  existing: readonly TopicSpec[],
): TopicFinding[] {
  const byName = new Map(existing.map((topic) => [topic.name, topic]));
  const dedicated = [...destinations]
    .filter(({ topic }) => topic === 'dedicated')
    .map(({ id }) => topology.dedicatedTopic(id));
  const wanted = [...topology.all, ...dedicated];
  const wantedNames = new Set(wanted.map(({ name }) => name));
  const ingest = byName.get(topology.topics.ingest);
  const foreign = topology.ingestTopics.filter((name) => !wantedNames.has(name));
  return [
    ...wanted.map((topic) => diffOne(topology, topic, byName.get(topic.name))),
    ...foreign.map((name) => diffForeign(name, byName.get(name), ingest)),
    ...existing.filter(({ name }) => !wantedNames.has(name)).flatMap(findLeftover(topology)),
  ];
}

/** What was wrong with a topic that is not as it should be; empty where all is well. */
export function findDifferences(findings: readonly TopicFinding[]): readonly TopicFinding[] {
  return findings.filter(({ state }) => state !== 'ok');
}

function diffOne(topology: Topology, wanted: Topic, existing: TopicSpec | undefined): TopicFinding {
  const { name, holds, partitions } = wanted;
  if (existing === undefined)
    return { name, state: 'missing', partitions, details: [holds], toCreate: wanted };
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
  const grows = existing.partitions < partitions && !isFixed(topology, name);
  return {
    name,
    state: differences.length === 0 ? 'ok' : 'differs',
    partitions: existing.partitions,
    details: differences.length === 0 ? [holds] : differences,
    ...(grows ? { addPartitionsTo: partitions } : undefined),
  };
}

function diffPartitions(topology: Topology, wanted: Topic, existing: TopicSpec): string[] {
  if (existing.partitions === wanted.partitions) return [];
  const text = `has ${existing.partitions} partitions, should have ${wanted.partitions}`;
  if (isFixed(topology, wanted.name))
    return [`${text}; its number must not change, because its state is kept by partition`];
  return existing.partitions < wanted.partitions
    ? [text]
    : [`${text}; partitions cannot be removed, so set TOPIC_PARTITIONS to what exists`];
}

/** More partitions would part a key's later records from its earlier ones, which are state here. */
function isFixed({ topics }: Topology, name: string): boolean {
  return [topics.config, topics.audienceMembers, topics.audienceSyncs].includes(name);
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
