import { Counter } from 'prom-client';
import type { ProducerHooks } from '../../kafka/produce/producer.ts';
import type { MetricsRegistry } from '../../ops/metrics.ts';

/** There from the start, so that the first of them shows as a rise. Others appear when they happen. */
const usualFailures = [
  'KafkaJSConnectionError',
  'LEADER_NOT_AVAILABLE',
  'NoAnswer',
  'NOT_LEADER_FOR_PARTITION',
  'NOT_ENOUGH_REPLICAS',
  'REQUEST_TIMED_OUT',
  'TOPIC_AUTHORIZATION_FAILED',
];

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
  for (const reason of usualFailures) failed.inc({ reason }, 0);
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
