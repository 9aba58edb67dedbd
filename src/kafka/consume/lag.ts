import type { ConsumeLoop, PartitionBefore } from './consume-loop.ts';

/** Records behind the high watermark, those in flight included, by topic. */
export function lagByTopic(loops: Iterable<ConsumeLoop>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const loop of loops)
    for (const { topic, records } of loop.lag()) sums.set(topic, (sums.get(topic) ?? 0) + records);
  return sums;
}

/**
 * The age of the oldest record in flight, by topic, in milliseconds; 0 if none is in flight.
 */
export function oldestByTopic(loops: Iterable<ConsumeLoop>, nowMs: number): Map<string, number> {
  const ages = new Map<string, number>();
  for (const loop of loops)
    for (const { topic, oldestMs = nowMs } of loop.lag())
      ages.set(topic, Math.max(ages.get(topic) ?? 0, nowMs - oldestMs));
  return ages;
}

/** Records not taken in yet that were appended before `timeMs`, by topic: an estimate. */
export function unreadBefore(
  loops: Iterable<ConsumeLoop>,
  timeMs: number,
  nowMs: number,
): Map<string, number> {
  return sumByTopic(loops, timeMs, nowMs, ({ unread }) => unread);
}

/** Unfinished records that were appended before `timeMs`, by topic; an estimate for those not taken in yet. */
export function unfinishedBefore(
  loops: Iterable<ConsumeLoop>,
  timeMs: number,
  nowMs: number,
): Map<string, number> {
  return sumByTopic(loops, timeMs, nowMs, ({ inFlight, unread }) => inFlight + unread);
}

function sumByTopic(
  loops: Iterable<ConsumeLoop>,
  timeMs: number,
  nowMs: number,
  count: (before: PartitionBefore) => number,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const loop of loops)
    for (const before of loop.before(timeMs, nowMs))
      sums.set(before.topic, (sums.get(before.topic) ?? 0) + count(before));
  return sums;
}
