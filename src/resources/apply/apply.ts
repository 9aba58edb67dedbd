import { ensureTopics } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import type { Topology } from '../../topology.ts';
import { readAudienceRecords } from '../audiences/records.ts';
import { readStoredResources, type ConfigTopicAccess } from '../config/config-topic.ts';
import type { ParsedFile } from './document.ts';
import { planApply, type Change, type PlanOptions } from './plan.ts';
import { recordKey } from '../config/stored.ts';
import type { StoredResources } from '../config/stored-resources.ts';
import { pauseRecord, resumedRecord } from '../pauses/pause.ts';
import { readPauses } from '../pauses/pauses.ts';

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
  options: Omit<PlanOptions, 'records'>,
): Promise<Plan> {
  const [stored, records] = await Promise.all([
    readStoredResources(access),
    readAudienceRecords(access.kafka, access.topology),
  ]);
  return { changes: planApply(files, stored, { ...options, records }), stored };
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
      ? [topology.dedicatedTopic(resource.id)]
      : [],
  );
  if (dedicated.length > 0) await ensureTopics(kafka, dedicated);
  const records = written.map((change) => ({
    topic: topology.topics.config,
    partition: 0,
    key: recordKey(change),
    value: change.value ?? null,
  }));
  const paused = await pausesOf({ kafka, topology }, written);
  await producer.send(endsOf(paused, 'create'));
  await producer.send(records);
  await producer.send(endsOf(paused, 'delete'));
}

interface LeftPause extends Pick<Change, 'action'> {
  readonly ends: readonly OutgoingRecord[];
}

/** A destination that begins or goes is not paused: a pause that there is was that of a former one, or goes with it. */
async function pausesOf(
  { kafka, topology }: Pick<WriteAccess, 'kafka' | 'topology'>,
  changes: readonly Change[],
): Promise<readonly LeftPause[]> {
  const concerned = changes.filter(
    ({ kind, action }) => kind === 'Destination' && (action === 'create' || action === 'delete'),
  );
  if (concerned.length === 0) return [];
  const pauses = await readPauses(kafka, topology);
  const topic = topology.topics.pauses;
  return concerned.map(({ id, action }) => ({
    action,
    ends: [
      ...(pauses.has(id) ? [pauseRecord(topic, id, undefined)] : []),
      ...(pauses.resumedSince(id) === undefined ? [] : [resumedRecord(topic, id, undefined)]),
    ],
  }));
}

function endsOf(paused: readonly LeftPause[], of: Change['action']): readonly OutgoingRecord[] {
  return paused.flatMap(({ action, ends }) => (action === of ? ends : []));
}
