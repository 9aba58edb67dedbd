import { ensureTopics } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Topology } from '../../topology.ts';
import { readAudienceRecords } from '../audiences/records.ts';
import { followStoredResources, type ConfigTopicAccess } from '../config/config-topic.ts';
import { readPauses } from '../pauses/pauses.ts';
import type { ParsedFile } from './document.ts';
import { identitiesBefore, newIdentity } from './identities.ts';
import { planApply, type Change, type PlanOptions } from './plan.ts';
import { recordKey } from '../config/stored.ts';
import type { StoredResources } from '../config/stored-resources.ts';

export interface Plan {
  readonly changes: readonly Change[];
  /** The stored resources that they were compared with. */
  readonly stored: StoredResources;
}

/**
 * The changes that applying the files would make, compared with everything written before this call.
 * @throws InvalidResources with every problem of the files
 * @throws PostriderError `secret-unreadable` without a key to encrypt secrets with
 */
export async function planFiles(
  access: ConfigTopicAccess,
  files: ParsedFile,
  options: Omit<PlanOptions, 'records' | 'identityOf'>,
): Promise<Plan> {
  const { kafka, topology } = access;
  const [followed, records] = await Promise.all([
    followStoredResources(access),
    readAudienceRecords(kafka, topology),
  ]);
  await followed.stop();
  const { resources: stored, offset } = followed;
  const identityOf = offset > 0 ? newIdentity : identitiesBefore(await readPauses(kafka, topology));
  return { changes: planApply(files, stored, { ...options, records, identityOf }), stored };
}

export interface WriteAccess {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly producer: Pick<Producer, 'send'>;
}

/** Resolves when every change is in the `config` topic. Sends nothing if nothing changes. */
export async function writeChanges(
  { kafka, topology, producer }: WriteAccess,
  changes: readonly Change[],
): Promise<void> {
  const written = changes.filter(({ value }) => value !== undefined);
  // Dedicated topics come before their destinations, because the router writes to a topic as soon as it has
  // read the destination.
  const dedicated = written.flatMap(({ resource }) =>
    resource?.kind === 'Destination' && resource.topic === 'dedicated'
      ? [topology.dedicatedTopic(resource.id, resource.partitions)]
      : [],
  );
  if (dedicated.length > 0) await ensureTopics(kafka, dedicated);
  const records = written.map((change) => ({
    topic: topology.topics.config,
    partition: 0,
    key: recordKey(change),
    value: change.value ?? null,
  }));
  if (records.length > 0) await producer.send(records);
}
