import type { KafkaAdmin, OffsetRange } from './admin.ts';

/** In epoch milliseconds, by Kafka's clock. */
export interface TimeSpan {
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
}

/**
 * The ranges of the topic's records of that time, in the order of partitions. The range of a partition that has none is
 * empty.
 */
export async function rangesWithin(
  admin: Pick<KafkaAdmin, 'offsets' | 'offsetsAt'>,
  topic: string,
  { sinceMs, untilMs }: TimeSpan,
): Promise<OffsetRange[]> {
  const [kept, since, until] = await Promise.all([
    admin.offsets(topic),
    sinceMs === undefined ? [] : admin.offsetsAt(topic, sinceMs),
    untilMs === undefined ? [] : admin.offsetsAt(topic, untilMs),
  ]);
  return kept.map(({ partition, start, end }) => {
    const next = Math.min(end, until[partition] ?? end);
    // Records may have been written between the answers.
    return {
      partition,
      start: Math.min(next, Math.max(start, since[partition] ?? start)),
      end: next,
    };
  });
}

/** The number of offsets in the ranges: about as many as records. */
export function offsetsIn(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}

/**
 * Tells whether a group has finished all records of these ranges.
 * @param committed what the group has committed of their topic, as from `KafkaAdmin.committedOffsets`
 */
export function isFinished(
  ranges: readonly OffsetRange[],
  committed: readonly number[] | undefined,
): boolean {
  return ranges.every(
    ({ partition, start, end }) => start === end || (committed?.[partition] ?? -1) >= end,
  );
}
