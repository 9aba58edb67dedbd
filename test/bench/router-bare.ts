import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { reportMeasurement } from './measure.ts';
import { copiesPerCall, loadTopology, type RouterLoad } from './router-load.ts';

/**
 * The least that can be called routing: consume, JSON.parse, produce three records of the same bytes.
 * No rules, no envelope, no body of its own, nothing retried. It writes as the role does where that is
 * faster: zstd, and not too many records of one partition in a call.
 */
const load = JSON.parse(process.argv[2] ?? '') as RouterLoad;
const { topics } = loadTopology(load);
const callsPerSend = Number(process.env['CALLS_PER_SEND'] ?? 500);
const zstd = 4;
let delivered = 0;

const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
const producer = kafka.producer();
await producer.connect();
const consumer = kafka.consumer({ groupId: load.group, maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({ topics: [topics.ingest], fromBeginning: true });
await consumer.run({
  autoCommitInterval: 1_000,
  eachBatch: async ({ batch, heartbeat }) => {
    for (let from = 0; from < batch.messages.length; from += callsPerSend) {
      const messages: { key: string; value: Buffer }[] = [];
      for (const { value } of batch.messages.slice(from, from + callsPerSend)) {
        if (value === null) continue;
        const { userId } = JSON.parse(value.toString()) as { userId: string };
        for (let i = 0; i < copiesPerCall; i += 1) messages.push({ key: `d${i}:${userId}`, value });
      }
      await producer.send({ topic: topics.delivery, acks: -1, compression: zstd, messages });
      delivered += messages.length;
      await heartbeat();
    }
  },
});
await reportMeasurement(load, () => delivered);
