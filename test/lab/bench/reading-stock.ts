import kafkajs from './bare-kafkajs.ts';
import { reportMeasurement } from './measure.ts';
import type { ReadingLoad } from './reading-load.ts';

/**
 * Reads with stock kafkajs, whole batches, and resolves them at once. Sends a message to the parent process when
 * it has joined its group. Argument 1 is the load as JSON; prints a measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as ReadingLoad;
let records = 0;
const kafka = new kafkajs.Kafka({ brokers: [...load.brokers], logLevel: kafkajs.logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: load.group, maxWaitTimeInMs: 100 });
consumer.on(consumer.events.GROUP_JOIN, () => process.send?.('joined'));
await consumer.connect();
await consumer.subscribe({ topics: [...load.topics], fromBeginning: true });
await consumer.run({
  autoCommitInterval: 1_000,
  eachBatch: ({ batch }) => {
    records += batch.messages.length;
    return Promise.resolve();
  },
});
await reportMeasurement(load, () => records);
