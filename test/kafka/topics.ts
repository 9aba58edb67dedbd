import type { Admin } from 'kafkajs';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';

/** A client of the run's broker. */
export async function testKafka(log: Logger = silentLogger): Promise<KafkaClient> {
  const { brokers } = await testBroker();
  return createKafka({ brokers, clientId: 'test' }, log);
}

/** kafkajs's own admin, for what ours does not offer. Closed also after a failure, or the run never ends. */
export async function withRawAdmin<T>(
  kafka: KafkaClient,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  return use(admin).finally(() => admin.disconnect());
}

/** A new topic; its name. */
export async function makeTopic(
  kafka: KafkaClient,
  partitions: number,
  config: Record<string, string> = {},
  replicationFactor: number = 1,
): Promise<string> {
  const name = `${testPrefix()}topic`;
  await withAdmin(kafka, (admin) =>
    admin.createTopics([{ name, partitions, replicationFactor, config }]),
  );
  return name;
}

/** All that is in the topic now. */
export async function readAll(kafka: KafkaClient, topic: string): Promise<IncomingRecord[]> {
  const records: IncomingRecord[] = [];
  for await (const record of readRange(kafka, { topic })) records.push(record);
  return records;
}

export function valuesOf(records: readonly IncomingRecord[]): string[] {
  return records.map(({ value }) => String(value));
}
