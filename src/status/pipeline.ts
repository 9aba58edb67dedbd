import { PostriderError } from '../errors.ts';
import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../kafka/topic-progress.ts';
import { readRange } from '../kafka/read-range.ts';
import type { Topology } from '../topology.ts';

/** The backlog of a stage in one of its topics. */
export interface TopicBacklog {
  readonly stage: 'router' | 'delivery' | 'retry';
  readonly topic: string;
  /**
   * Records that are not finished; in a retry topic, including those that are not due. One may hold many
   * events.
   */
  readonly records: number;
  /** The time at which the oldest of them was appended. */
  readonly oldest: string | undefined;
}

export interface Pipeline {
  /** Dedicated topics and those of former retry tiers are in it while something waits in them. */
  readonly backlog: readonly TopicBacklog[];
  /** Records of the last hour. */
  readonly deadLetters: number;
  readonly rejectedCalls: number;
}

const lastMs = 3_600_000;

/**
 * Read from Kafka itself, so that it is correct without any worker.
 * @throws PostriderError `kafka-unavailable`, `not-found`
 */
export async function readPipeline(
  kafka: KafkaClient,
  topology: Topology,
  nowMs: number,
): Promise<Pipeline> {
  const { topics, groups, ingestTopics, retryTiersMs } = topology;
  const retries = retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  return withAdmin(kafka, async (admin) => {
    const backlogOf = async (
      stage: TopicBacklog['stage'],
      groupId: string,
      names: readonly string[],
    ): Promise<TopicBacklog[]> => {
      const ranges = await unfinished(admin, groupId, names);
      return Promise.all(
        Array.from(ranges, async ([topic, unread]): Promise<TopicBacklog> => {
          const records = offsetsIn(unread);
          const oldest = records === 0 ? undefined : await oldestOf(kafka, topic, unread);
          return { stage, topic, records, oldest };
        }),
      );
    };
    /** Only those in which something waits: a deployment may have hundreds. */
    const waitingIn = async (
      stage: TopicBacklog['stage'],
      names: readonly string[],
    ): Promise<TopicBacklog[]> => {
      const each = await Promise.all(
        names.map((name) => unlessRemoved(backlogOf(stage, topology.deliveryGroup(name), [name]))),
      );
      return each.flat().filter(({ records }) => records > 0);
    };
    const existing = await admin.topicNames(topology.prefix);
    const dedicated = existing.filter((name) => topology.dedicatedDestination(name) !== undefined);
    const former = existing.filter(
      (name) => topology.retryTierMs(name) !== undefined && !retries.includes(name),
    );
    const [deadLetters, rejectedCalls, ...backlog] = await Promise.all([
      writtenSince(admin, topics.deadLetter, nowMs - lastMs),
      writtenSince(admin, topics.ingestRejected, nowMs - lastMs),
      backlogOf('router', groups.router, ingestTopics),
      backlogOf('delivery', groups.delivery, [topics.delivery]),
      waitingIn('delivery', dedicated),
      backlogOf('retry', groups.delivery, retries),
      waitingIn('retry', former),
    ]);
    return { backlog: backlog.flat(), deadLetters, rejectedCalls };
  });
}

/** Workers remove the topic of a deleted destination when it is empty, and operators those of former tiers. */
async function unlessRemoved(backlog: Promise<TopicBacklog[]>): Promise<TopicBacklog[]> {
  return backlog.catch((error: unknown) => {
    if (error instanceof PostriderError && error.code === 'not-found') return [];
    throw error;
  });
}

/** By topic and partition: from the group's committed offset to the end. */
async function unfinished(
  admin: KafkaAdmin,
  groupId: string,
  topics: readonly string[],
): Promise<Map<string, OffsetRange[]>> {
  const [committed, ...kept] = await Promise.all([
    admin.committedOffsets(groupId, topics),
    ...topics.map((topic) => admin.offsets(topic)),
  ]);
  return new Map(
    topics.map((topic, index) => [
      topic,
      (kept[index] ?? []).map(({ partition, start, end }) => {
        const next = committed.get(topic)?.[partition] ?? -1;
        // The group may have committed more since the end was requested.
        return { partition, start: Math.min(end, Math.max(start, next)), end };
      }),
    ]),
  );
}

async function writtenSince(admin: KafkaAdmin, topic: string, sinceMs: number): Promise<number> {
  return offsetsIn(await rangesWithin(admin, topic, { sinceMs }));
}

/** The append time of the first record of each partition. */
async function oldestOf(
  kafka: KafkaClient,
  topic: string,
  unread: readonly OffsetRange[],
): Promise<string | undefined> {
  const ranges = unread
    .filter(({ start, end }) => start < end)
    .map(({ partition, start }) => ({ partition, start, end: start + 1 }));
  let oldestMs = Infinity;
  for await (const { timestampMs } of readRange(kafka, { topic, ranges, maxFetchBytes: 262_144 }))
    oldestMs = Math.min(oldestMs, timestampMs);
  return oldestMs === Infinity ? undefined : new Date(oldestMs).toISOString();
}
