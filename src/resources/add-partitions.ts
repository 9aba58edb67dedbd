import { PostriderError } from '../errors.ts';
import { withAdmin, type TopicSpec } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { hintAmong } from '../near.ts';
import type { Topology } from '../topology.ts';
import { belongTogether, keepsPartitions } from './topics.ts';

/** A topic that gets more partitions. */
export interface Growth {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export interface GrowthOptions {
  /** Empty: all topics of ours that may grow, but those of destinations, which say themselves how many they need. */
  readonly names: readonly string[];
  /** The number of partitions that each topic should have then. */
  readonly partitions: number;
}

/**
 * Chooses the topics that grow. Topics that belong together count as one: naming one of them means
 * all. Topics that have as many partitions already are left out, so a run that was cut off is taken
 * up by the next.
 * @throws PostriderError `usage` for a topic that is not there, may not grow, or has more
 */
export function planGrowth(
  topology: Topology,
  existing: readonly TopicSpec[],
  { names, partitions }: GrowthOptions,
): readonly Growth[] {
  const own = existing.filter(({ name }) => isOurs(topology, name));
  for (const name of names) requireGrowable(topology, own, name);
  const isMeant = ({ name }: TopicSpec): boolean =>
    names.length === 0
      ? !keepsPartitions(topology, name) && !isDedicated(topology, name)
      : names.some((each) => each === name || belongTogether(topology, each, name));
  const meant = own.filter(isMeant);
  const larger = meant.find((topic) => topic.partitions > partitions);
  if (larger !== undefined)
    throw new PostriderError(
      'usage',
      `--partitions ${partitions}: ${larger.name} has ${larger.partitions} already, and partitions cannot be removed`,
    );
  return meant
    .filter((topic) => topic.partitions < partitions)
    .map(({ name, partitions: from }) => ({ name, from, to: partitions }));
}

/** @throws PostriderError `kafka-unavailable`, `kafka-refused` */
export async function addPartitions(kafka: KafkaClient, growth: readonly Growth[]): Promise<void> {
  const topics = growth.map(({ name, to: partitions }) => ({ name, partitions }));
  await withAdmin(kafka, (admin) => admin.extendPartitions(topics));
}

/** The consequences that the operator has to know before: one sentence each. */
export function effectsOf(topology: Topology, growth: readonly Growth[]): readonly string[] {
  const { topics } = topology;
  const grows = (...names: readonly string[]): boolean =>
    growth.some(({ name }) => names.includes(name));
  const isOnTheWay = growth.some(
    ({ name }) => belongTogether(topology, name, topics.delivery) || isDedicated(topology, name),
  );
  const keyed = [topics.deadLetter, topics.ingestRejected, topics.paused, topics.attempts];
  return [
    ...(isOnTheWay || grows(...topology.ingestTopics)
      ? [
          'Keys move to other partitions. Events of one user that are written from now on may be delivered before those that wait, until these are delivered: add partitions while little waits.',
        ]
      : []),
    ...(isOnTheWay
      ? [
          'A destination with a rate limit moves to another partition. It may get up to twice its limit for some seconds, and events that wait take the way through the shortest retry tier.',
        ]
      : []),
    ...(grows(...topology.ingestTopics)
      ? [
          'A call that is sent again is not dropped as a duplicate if it was sent before the change.',
        ]
      : []),
    ...(grows(...keyed)
      ? [
          'With --user, `dead-letters`, `rejected`, `attempts` and `explain` look where records are written now. To find those from before, use --scan where a command has it, or leave --user out.',
        ]
      : []),
    'Roles that run notice within a minute; nothing has to be stopped, and nothing is lost.',
    'Partitions cannot be removed again.',
  ];
}

function isOurs(topology: Topology, name: string): boolean {
  return (
    topology.all.some((topic) => topic.name === name) ||
    topology.retryTierMs(name) !== undefined ||
    isDedicated(topology, name)
  );
}

function isDedicated(topology: Topology, name: string): boolean {
  return topology.dedicatedDestination(name) !== undefined;
}

function requireGrowable(topology: Topology, own: readonly TopicSpec[], name: string): void {
  const known = own.map((topic) => topic.name);
  if (!known.includes(name))
    throw new PostriderError(
      'usage',
      `there is no topic ${name} of ours${hintAmong(name, known, 'known are')}`,
    );
  if (keepsPartitions(topology, name))
    throw new PostriderError(
      'usage',
      `${name} keeps its number of partitions, because its state is kept by partition`,
    );
}
