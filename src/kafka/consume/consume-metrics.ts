import { Counter, type Registry } from 'prom-client';
import type { ConsumeObserver } from './consume-loop.ts';

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
