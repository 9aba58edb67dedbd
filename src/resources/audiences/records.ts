import type { KafkaClient } from '../../kafka/client.ts';
import { loadFollower, type Follower } from '../../kafka/follow/follower.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { requireTopics } from '../require-topics.ts';
import { decodeAudienceRecord, type AudienceRecord } from './record.ts';

export type AudienceRecords = ReadonlyMap<string, AudienceRecord>;

/**
 * The records of all audiences and computed traits, by id: all that are written now. It waits for a
 * transaction that is open, up to 20 s where a sync was killed: without what lies behind it, an audience
 * whose users have its trait looks like one that nobody was told of.
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

/** Calls `onRecord` for every record from the beginning on; undefined: it is gone. One that cannot be read is left out. */
export function followAudienceRecords(
  kafka: KafkaClient,
  { topics }: Topology,
  log: Logger,
  onRecord: (id: string, record: AudienceRecord | undefined) => void,
): Promise<Follower> {
  return loadFollower(kafka, {
    topic: topics.audienceSyncs,
    // Nobody waits for them.
    maxWaitMs: 500,
    log,
    onRecord: ({ key, value }) => {
      const id = key?.toString() ?? '';
      if (value === null) {
        onRecord(id, undefined);
        return;
      }
      try {
        onRecord(id, decodeAudienceRecord(id, value.toString()));
      } catch (error) {
        log.warn({ err: error }, 'the record of an audience cannot be read');
      }
    },
  });
}
