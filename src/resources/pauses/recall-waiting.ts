import { latestDueMs } from '../../event/tier-delay.ts';
import type { Identity } from '../../event/uid.ts';
import { withAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Topology } from '../../topology.ts';
import { readPauses } from './pauses.ts';
import { recallRecord, type RecallEnds } from './recall.ts';

export interface RecallDeps {
  readonly kafka: KafkaClient;
  readonly topology: Pick<Topology, 'topics' | 'prefix' | 'retryTierMs'>;
  readonly clock: Clock;
  /** Resolves when Kafka has them. */
  readonly write: (records: readonly OutgoingRecord[]) => Promise<void>;
}

/**
 * Makes all that waits for these destinations in the retry topics due now. Recalls are removed on the way whose records were
 * due long ago.
 * @throws PostriderError `kafka-unavailable`, `kafka-refused`
 */
export async function recallWaiting(
  { kafka, topology, clock, write }: RecallDeps,
  destinations: readonly Identity[],
): Promise<void> {
  const { pauses: topic } = topology.topics;
  const { ends, longestMs } = await waitingNow(kafka, topology);
  const { recalls } = await readPauses(kafka, topology);
  const named = new Set(destinations.map(({ id }) => id));
  // Clocks may differ, so twice as long as any record waits.
  const over = recalls.writtenBefore(clock.now() - 2 * longestMs).filter((id) => !named.has(id));
  await write([
    ...destinations.map((each) => recallRecord(topic, each, ends)),
    ...over.map((id) => recallRecord(topic, { id }, undefined)),
  ]);
}

/** The ends of the retry topics, those of former tiers too, and the longest time for which one keeps a record. */
async function waitingNow(
  kafka: KafkaClient,
  topology: RecallDeps['topology'],
): Promise<{ ends: RecallEnds; longestMs: number }> {
  return withAdmin(kafka, async (admin) => {
    const ends: Record<string, readonly number[]> = {};
    let longestMs = 0;
    for (const topic of await admin.topicNames(topology.prefix)) {
      const tierMs = topology.retryTierMs(topic);
      if (tierMs === undefined) continue;
      longestMs = Math.max(longestMs, latestDueMs(tierMs, 0));
      const ranges = await admin.offsets(topic);
      if (ranges.some(({ start, end }) => end > start)) ends[topic] = ranges.map(({ end }) => end);
    }
    return { ends, longestMs };
  });
}
