import { createHash } from 'node:crypto';
import kafkajs from './bare-kafkajs.ts';
import {
  audienceTopology,
  changesPerTransaction,
  type AudienceLoad,
  type AudienceMeasurement,
} from './audience-load.ts';

/**
 * The least that can be called a sync: the same two records for each change, in transactions of as many
 * changes. Nothing is read, compared, fenced or checked.
 */
const { brokers, prefix, audienceId, users } = JSON.parse(process.argv[2] ?? '') as AudienceLoad;
const { topics } = audienceTopology(prefix);
const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
const producer = kafka.producer({
  transactionalId: `${prefix}${audienceId}`,
  idempotent: true,
  maxInFlightRequests: 1,
});
await producer.connect();
const startedMs = performance.now();
const sync = new Date().toISOString();
const [first, last] = users;
for (let from = first; from < last; from += changesPerTransaction) {
  const calls = [];
  const members = [];
  for (let i = from; i < Math.min(last, from + changesPerTransaction); i += 1) {
    const userId = `u-${createHash('md5').update(String(i)).digest('hex').slice(0, 18)}`;
    calls.push({
      key: userId,
      headers: { 'audience-source': 'shop' },
      value: JSON.stringify({
        ...{ type: 'identify', messageId: `${sync}-${i}`, userId, traits: { big_spenders: true } },
        context: { audience: { id: audienceId, name: 'Big Spenders', sync } },
        timestamp: sync,
      }),
    });
    members.push({ key: `${audienceId}:${userId}`, value: 'true' });
  }
  const transaction = await producer.transaction();
  await transaction.sendBatch({
    acks: -1,
    compression: kafkajs.CompressionTypes.ZSTD,
    topicMessages: [
      { topic: topics.ingestAudience, messages: calls },
      { topic: topics.audienceMembers, messages: members },
    ],
  });
  await transaction.commit();
}
const cpu = process.cpuUsage();
const measurement: AudienceMeasurement = {
  changes: last - first,
  ms: { all: performance.now() - startedMs },
  cpuMs: (cpu.user + cpu.system) / 1_000,
  maxRssMb: process.resourceUsage().maxRSS / 1_024,
};
await producer.disconnect();
console.log(JSON.stringify(measurement));
