import { ensureTopics } from '../../kafka/admin.ts';
import { readAudienceRecords } from '../audiences/records.ts';
import {
  followStoredResources,
  type ConfigTopicAccess,
  type FollowedResources,
} from '../config/config-topic.ts';
import type { ConfigRecord } from '../config/config-writer.ts';
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
  const followed = await followStoredResources(access);
  await followed.stop();
  return planOn(access, followed, files, options);
}

/** The same, compared with what is stored now by a follower that the caller has. */
export async function planOn(
  { kafka, topology }: ConfigTopicAccess,
  { resources: stored, isUntouched }: Pick<FollowedResources, 'resources' | 'isUntouched'>,
  files: ParsedFile,
  options: Omit<PlanOptions, 'records' | 'identityOf'>,
): Promise<Plan> {
  const [records, identityOf] = await Promise.all([
    readAudienceRecords(kafka, topology),
    isUntouched ? readPauses(kafka, topology).then(identitiesBefore) : newIdentity,
  ]);
  return { changes: planApply(files, stored, { ...options, records, identityOf }), stored };
}

/** The records of changes, in the order in which every reference is valid at every step. */
export function recordsOf(changes: readonly Change[]): readonly ConfigRecord[] {
  return changes.flatMap((change) =>
    change.value === undefined ? [] : [{ key: recordKey(change), value: change.value }],
  );
}

/**
 * Dedicated topics come before their destinations, because the router writes to a topic as soon as it has read the
 * destination.
 */
export async function makeDedicatedTopics(
  { kafka, topology }: Pick<ConfigTopicAccess, 'kafka' | 'topology'>,
  changes: readonly Change[],
): Promise<void> {
  const dedicated = changes.flatMap(({ resource, value }) =>
    value !== undefined && resource?.kind === 'Destination' && resource.topic === 'dedicated'
      ? [topology.dedicatedTopic(resource.id, resource.partitions)]
      : [],
  );
  if (dedicated.length > 0) await ensureTopics(kafka, dedicated);
}
