import { request } from 'undici';
import kafkajs from './bare-kafkajs.ts';

/**
 * The barest two hops, as a process of its own: consume, produce, consume, POST, one record at a time
 * with stock kafkajs. Argument 1: `{ brokers, from, to, group, url }`; prints `ready`.
 */
interface Chain {
  readonly brokers: string[];
  readonly from: string;
  readonly to: string;
  readonly group: string;
  readonly url: string;
}

const { brokers, from, to, group, url } = JSON.parse(process.argv[2] ?? '') as Chain;
const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING });
const producer = kafka.producer({
  createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  allowAutoTopicCreation: false,
});
await producer.connect();

async function consume(topic: string, handle: (value: Buffer) => Promise<unknown>): Promise<void> {
  const consumer = kafka.consumer({ groupId: `${group}-${topic}`, maxWaitTimeInMs: 100 });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => {
      const values = batch.messages.map(({ value }) => value ?? Buffer.alloc(0));
      await Promise.all(values.map(handle));
    },
  });
  await joined;
}

await consume(from, (value) =>
  producer.send({ topic: to, acks: -1, messages: [{ key: value.subarray(0, 16), value }] }),
);
await consume(to, async (body) => {
  const answer = await request(url, { method: 'POST', body });
  await answer.body.dump();
});
process.stdout.write('ready\n');
process.on('disconnect', () => {
  process.exit();
});
