import { createKafka } from '../../../src/kafka/client.ts';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import { openTransactions, type PlacedRecord } from '../../../src/kafka/produce/transactions.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  audiencePartitions,
  audienceTopology,
  changeOf,
  changesPerTransaction,
  measureAudience,
  type AudienceLoad,
} from './audience-load.ts';

/**
 * The least that can be called a sync, with this project's transactions: the same two records for each change, in
 * transactions of as many changes. Nothing is read, compared or checked.
 */
const { brokers, prefix, audienceId, users } = JSON.parse(process.argv[2] ?? '') as AudienceLoad;
const { ingestAudience, audienceMembers } = audienceTopology(prefix).topics;
const [first, last] = users;
await measureAudience(async () => {
  const kafka = createKafka({ brokers, clientId: 'bench-bare' }, silentLogger);
  const transactions = await openTransactions(kafka, `${prefix}${audienceId}`);
  const sync = new Date().toISOString();
  for (let from = first; from < last; from += changesPerTransaction) {
    const records: PlacedRecord[] = [];
    for (let i = from; i < Math.min(last, from + changesPerTransaction); i += 1) {
      const { call, member } = changeOf(audienceId, sync, i);
      for (const [topic, part] of [
        [ingestAudience, call] as const,
        [audienceMembers, member] as const,
      ])
        records.push({ topic, partition: partitionOf(part.key, audiencePartitions), ...part });
    }
    await transactions.write(records);
  }
  return { changes: last - first, ms: {} };
});
process.exit();
