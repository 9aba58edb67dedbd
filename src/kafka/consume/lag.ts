import type { ConsumeLoop } from './consume-loop.ts';

/** Records behind the high watermark, those in flight included, by topic. */
export function lagByTopic(loops: Iterable<ConsumeLoop>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const loop of loops)
    for (const { topic, records } of loop.lag()) sums.set(topic, (sums.get(topic) ?? 0) + records);
  return sums;
}

/** How long ago the oldest record in flight was appended, by topic, in milliseconds; 0 where none is. */
export function oldestByTopic(loops: Iterable<ConsumeLoop>, nowMs: number): Map<string, number> {
  const ages = new Map<string, number>();
  for (const loop of loops)
    for (const { topic, oldestMs = nowMs } of loop.lag())
      ages.set(topic, Math.max(ages.get(topic) ?? 0, nowMs - oldestMs));
  return ages;
}
