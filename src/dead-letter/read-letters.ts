import { PostriderError } from '../errors.ts';
import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import type { IncomingRecord } from '../kafka/record.ts';

/** When letters were written; epoch milliseconds. */
export interface TimeRange {
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
}

/**
 * What is in the topic now, each partition in its order. What is written while this runs is left out,
 * so that letters which a redrive brings back do not make it endless.
 */
export async function* readLetters(
  kafka: KafkaClient,
  topic: string,
  time: TimeRange,
): AsyncGenerator<IncomingRecord, void, undefined> {
  const ranges = await withAdmin(kafka, (admin) => rangesWithin(admin, topic, time));
  yield* readRange(kafka, { topic, ranges });
}

/** @throws PostriderError `not-found` */
export async function readLetter(
  kafka: KafkaClient,
  topic: string,
  partition: number,
  offset: number,
): Promise<IncomingRecord> {
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const kept = ranges.find((range) => range.partition === partition);
  const place = `${partition}:${offset}`;
  if (kept === undefined || offset < kept.start || offset >= kept.end)
    throw new PostriderError(
      'not-found',
      `there is no record ${place} in ${topic}; ${holds(kept)}`,
    );
  const range = { partition, start: offset, end: offset + 1 };
  for await (const record of readRange(kafka, { topic, ranges: [range] })) return record;
  throw new PostriderError('not-found', `the record ${place} of ${topic} has just been removed`);
}

async function rangesWithin(
  admin: KafkaAdmin,
  topic: string,
  { sinceMs, untilMs }: TimeRange,
): Promise<OffsetRange[]> {
  const all = await admin.offsets(topic);
  const since = sinceMs === undefined ? [] : await admin.offsetsAt(topic, sinceMs);
  const until = untilMs === undefined ? [] : await admin.offsetsAt(topic, untilMs);
  return all.map(({ partition, start, end }) => ({
    partition,
    start: Math.max(start, since[partition] ?? start),
    end: Math.min(end, until[partition] ?? end),
  }));
}

function holds(range: OffsetRange | undefined): string {
  if (range === undefined) return 'it has no such partition';
  const { partition, start, end } = range;
  if (start === end) return `partition ${partition} is empty`;
  return `partition ${partition} holds ${partition}:${start} to ${partition}:${end - 1}`;
}
