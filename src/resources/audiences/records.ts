import type { KafkaClient } from '../../kafka/client.ts';
import { followTable, newestByKey, type FollowedTable } from '../../kafka/follow/table.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { requireTopics } from '../require-topics.ts';
import { decodeAudienceRecord, type AudienceRecord } from './record.ts';

export type AudienceRecords = ReadonlyMap<string, AudienceRecord>;

/**
 * The records of all audiences and computed traits, by id. Waits for an open transaction, up to 20 s if a
 * sync was killed: without the records behind it, an audience whose users have its trait looks as if it had
 * never been sent.
 * @throws PostriderError `not-found` without the topic, `resource-invalid`, `kafka-unavailable`
 */
export async function readAudienceRecords(
  kafka: KafkaClient,
  { topics }: Topology,
): Promise<AudienceRecords> {
  const topic = topics.audienceSyncs;
  await requireTopics(kafka, [{ name: topic }]);
  const texts = new Map<string, string>();
  for await (const { key, value } of readRange(kafka, { topic })) {
    const id = key?.toString() ?? '';
    if (value === null) texts.delete(id);
    else texts.set(id, value.toString());
  }
  return new Map(Array.from(texts, ([id, text]) => [id, decodeAudienceRecord(id, text)]));
}

/** The records of all audiences and computed traits, by id. An unreadable one leaves the one before it in force. */
export function followAudienceRecords(
  kafka: KafkaClient,
  { topics }: Topology,
  log: Logger,
): FollowedTable<AudienceRecords, string> {
  return followTable(
    kafka,
    // Nothing waits for these records.
    { topic: topics.audienceSyncs, maxWaitMs: 500, log },
    newestByKey((id, value) => decodeAudienceRecord(id, value.toString())),
  );
}
