import kafkajs from './bare-kafkajs.ts';
import {
  audienceTopology,
  changeOf,
  changesPerTransaction,
  measureAudience,
  type AudienceLoad,
} from './audience-load.ts';

/**
 * The least that can be called a sync, with stock kafkajs: the same two records for each change, in transactions
 * of as many changes. Nothing is read, compared, fenced or checked.
 */
const { brokers, prefix, audienceId, users } = JSON.parse(process.argv[2] ?? '') as AudienceLoad;
const { topics } = audienceTopology(prefix);
const [first, last] = users;
await measureAudience(async () => {
  const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
  const producer = kafka.producer({
    transactionalId: `${prefix}${audienceId}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const sync = new Date().toISOString();
  for (let from = first; from < last; from += changesPerTransaction) {
    const calls = [];
    const members = [];
    for (let i = from; i < Math.min(last, from + changesPerTransaction); i += 1) {
      const { call, member } = changeOf(audienceId, sync, i);
      calls.push(call);
      members.push(member);
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
  return { changes: last - first, ms: {} };
});
process.exit();
