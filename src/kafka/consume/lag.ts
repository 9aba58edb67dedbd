import type { ConsumeLoop } from './consume-loop.ts';

/** Records behind the high watermark, those in flight included, by topic. */
export function lagByTopic(loops: Iterable<ConsumeLoop>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const loop of loops)
    for (const { topic, records } of loop.lag()) sums.set(topic, (sums.get(topic) ?? 0) + records);
  return sums;
}
