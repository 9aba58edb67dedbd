import kafkajs from './bare-kafkajs.ts';
import { reportMeasurement } from './measure.ts';
import { copiesPerCall, loadTopology, type RouterLoad } from './router-load.ts';

/**
 * The least that can be called routing, with stock kafkajs: consume, JSON.parse, produce three records of the
 * same bytes. No rules, no envelope, no body of its own, nothing retried. It does as the role does what makes
 * it cheaper: zstd, and calls that are large, but not too large. Argument 1 is the load as JSON; prints a
 * measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as RouterLoad;
const { topics } = loadTopology(load);
/** 250, 500 and 1,000 cost the same within the noise. */
const callsPerSend = 500;
let delivered = 0;

const kafka = new kafkajs.Kafka({ brokers: [...load.brokers], logLevel: kafkajs.logLevel.NOTHING });
const producer = kafka.producer();
await producer.connect();
const consumer = kafka.consumer({ groupId: load.group, maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({ topics: [topics.ingest], fromBeginning: true });
await consumer.run({
  autoCommitInterval: 1_000,
  eachBatch: async (payload) => {
    const { batch } = payload;
    for (let from = 0; from < batch.messages.length; from += callsPerSend) {
      const messages: { key: string; value: Buffer }[] = [];
      for (const { value } of batch.messages.slice(from, from + callsPerSend)) {
        if (value === null) continue;
        const { userId } = JSON.parse(value.toString()) as { userId: string };
        for (let i = 0; i < copiesPerCall; i += 1) messages.push({ key: `d${i}:${userId}`, value });
      }
      await producer.send({
        topic: topics.delivery,
        acks: -1,
        compression: kafkajs.CompressionTypes.ZSTD,
        messages,
      });
      delivered += messages.length;
      await payload.heartbeat();
    }
  },
});
await reportMeasurement(load, () => delivered);
