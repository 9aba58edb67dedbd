import type { KafkaMessage } from 'kafkajs';
import kafkajs from './bare-kafkajs.ts';
import { loadTopology } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { Poster } from './delivery-post.ts';
import { reportMeasurement } from './measure.ts';

/**
 * Deliveries with stock kafkajs. A batch is resolved when all of its requests have begun, whatever becomes of
 * them, and the next fetch waits for that. Argument 1 is the load as JSON; prints a measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as DeliveryLoad;
const poster = new Poster<KafkaMessage>(load, () => undefined);
const kafka = new kafkajs.Kafka({ brokers: [...load.brokers], logLevel: kafkajs.logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: load.group, maxWaitTimeInMs: 100 });
await consumer.connect();
const { delivery } = loadTopology(load.prefix).topics;
await consumer.subscribe({ topics: [delivery], fromBeginning: true });
await consumer.run({
  autoCommitInterval: 1_000,
  eachBatch: async ({ batch }) => {
    poster.add(batch.messages);
    await poster.emptied();
  },
});
await reportMeasurement({ warmUp: load.warmUp, total: load.events }, () => poster.delivered);
