import { Counter } from 'prom-client';
import type { ProducerHooks } from '../kafka/produce/producer.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';

/** Counts what the process's producer does; it knows no metrics itself. */
export function producerHooks(registry: MetricsRegistry): ProducerHooks {
  const registers = [registry];
  const written = new Counter({
    name: 'postrider_kafka_produced_records_total',
    help: 'Records that all in-sync replicas have acknowledged.',
    registers,
  });
  const failed = new Counter({
    name: 'postrider_kafka_produce_failures_total',
    help: 'Calls to Kafka that failed and are repeated.',
    labelNames: ['reason'],
    registers,
  });
  const refused = new Counter({
    name: 'postrider_kafka_refused_records_total',
    help: 'Records that can never be written, e.g. too large ones.',
    registers,
  });
  return {
    written: ({ records }) => {
      written.inc(records);
    },
    failed: (reason) => {
      failed.inc({ reason });
    },
    refused: () => {
      refused.inc();
    },
  };
}
