import { Counter } from 'prom-client';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { ProducerHooks } from '../../kafka/produce/events.ts';
import { exposeGauges, type MetricsRegistry } from '../../ops/metrics.ts';

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
    help: 'Records that all in-sync replicas acknowledged.',
    registers,
  });
  const successes = new Counter({
    name: 'postrider_kafka_produce_successes_total',
    help: 'Calls to Kafka that wrote records.',
    registers,
  });
  const failed = new Counter({
    name: 'postrider_kafka_produce_failures_total',
    help: 'Requests to Kafka that failed and are repeated, by reason.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of usualFailures) failed.inc({ reason }, 0);
  const refused = new Counter({
    name: 'postrider_kafka_refused_records_total',
    help: 'Records that Kafka can never store, for example because they are too large.',
    registers,
  });
  return {
    written: ({ records }) => {
      written.inc(records);
      successes.inc();
    },
    failed: (reason) => {
      failed.inc({ reason });
    },
    refused: () => {
      refused.inc();
    },
  };
}

/** Names the topics that cannot be written. */
export function exposeUnwritable(
  registry: MetricsRegistry,
  producer: Pick<Producer, 'unwritable'>,
): void {
  exposeGauges(
    registry,
    'postrider_kafka_unwritable_partitions',
    'Partitions of a topic that have not taken records for 10 s although Kafka answers; 1 if the topic is missing. There is no series for topics that take them.',
    'topic',
    () => producer.unwritable(),
  );
}
