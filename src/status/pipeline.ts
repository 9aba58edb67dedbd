import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../kafka/offset-ranges.ts';
import { readRange } from '../kafka/read-range.ts';
import type { Topology } from '../topology.ts';

/** How far a stage is behind in one of its topics. */
export interface TopicBacklog {
  readonly stage: 'router' | 'delivery' | 'retry';
  readonly topic: string;
  /**
   * Records that are not finished; in a retry topic, including those that are not due. One may hold many
   * events.
   */
  readonly records: number;
  /** When the oldest of them was appended. */
  readonly oldest: string | undefined;
}

export interface Pipeline {
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
    const [routed, delivered, deadLetters, rejectedCalls] = await Promise.all([
      unfinished(admin, groups.router, ingestTopics),
      unfinished(admin, groups.delivery, [topics.delivery, ...retries]),
      writtenSince(admin, topics.deadLetter, nowMs - lastMs),
      writtenSince(admin, topics.ingestRejected, nowMs - lastMs),
    ]);
    const stageOf = (topic: string): TopicBacklog['stage'] => {
      if (ingestTopics.includes(topic)) return 'router';
      return topic === topics.delivery ? 'delivery' : 'retry';
    };
    const backlog = await Promise.all(
      [...routed, ...delivered].map(async ([topic, ranges]): Promise<TopicBacklog> => {
        const records = offsetsIn(ranges);
        const oldest = records === 0 ? undefined : await oldestOf(kafka, topic, ranges);
        return { stage: stageOf(topic), topic, records, oldest };
      }),
    );
    return { backlog, deadLetters, rejectedCalls };
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

/** Of the first record of each partition. */
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
