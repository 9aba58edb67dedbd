import { Counter, type Registry } from 'prom-client';
import type { ConsumeLoop, ConsumeObserver, PartitionBefore } from './consume-loop.ts';

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

type ReadingObserver = Required<Pick<ConsumeObserver, 'recordsGone' | 'unreadable'>>;

/**
 * Counts what goes wrong with a topic's log, in series that all consumers of the process share.
 * @param topics what is read; their series are there from the start
 */
export function observeReading(registry: Registry, topics: readonly string[]): ReadingObserver {
  const removed = counter(
    registry,
    'postrider_kafka_removed_unread_total',
    'Offsets that Kafka removed before they were read.',
  );
  const unreadable = counter(
    registry,
    'postrider_kafka_unreadable_batches_total',
    'Attempts to read a batch that cannot be read. Its partition stops, and is tried again every 30 s.',
  );
  for (const topic of topics) for (const metric of [removed, unreadable]) metric.inc({ topic }, 0);
  return {
    recordsGone: ({ topic }, records) => {
      removed.inc({ topic }, records);
    },
    unreadable: ({ topic }) => {
      unreadable.inc({ topic });
    },
  };
}

function counter(registry: Registry, name: string, help: string): Counter {
  const known = registry.getSingleMetric(name);
  if (known instanceof Counter) return known;
  return new Counter({ name, help, labelNames: ['topic'], registers: [registry] });
}
