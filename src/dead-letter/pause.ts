import { PostriderError } from '../errors.ts';
import type { Identity } from '../event/uid.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { timeToEnd } from '../ops/wait.ts';
import { readStoredResources } from '../resources/config/config-topic.ts';
import type { StoredResources } from '../resources/config/stored-resources.ts';
import { requireDestination } from '../resources/config/stored-resources.ts';
import { pauseRecord, resumedRecord, type Pause } from '../resources/pauses/pause.ts';
import { readPauses } from '../resources/pauses/pauses.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { ServiceAccess } from './service.ts';

export interface Paused {
  readonly pause: Pause;
  /** It had begun before. */
  readonly wasPaused: boolean;
  readonly keptForMs: number;
}

/**
 * Nothing is sent to the destination until `resume`, and nothing is lost.
 * @throws PostriderError `not-found`
 */
export async function pauseDestination(access: ServiceAccess, id: string): Promise<Paused> {
  const { kafka, topology, clock } = access;
  const { destinations } = await knownFor(access, [id]);
  const [destination = { id }] = destinations;
  const known = await readPauses(kafka, topology);
  const before = known.get(destination);
  const keptForMs = topology.pausedRetentionMs;
  if (before !== undefined) return { pause: before, wasPaused: true, keptForMs };
  const { pauses } = topology.topics;
  const begun = known.begin(destination, clock.now());
  await writePauses(access, [
    pauseRecord(pauses, destination, begun),
    resumedRecord(pauses, destination, undefined),
  ]);
  return { pause: begun, wasPaused: false, keptForMs };
}

interface Known {
  readonly stored: StoredResources;
  /** The destinations, in the order of the ids. */
  readonly destinations: readonly Identity[];
}

/** @throws PostriderError `not-found` for a destination or a topic */
export async function knownFor(
  { kafka, topology, log }: ServiceAccess,
  ids: readonly string[],
): Promise<Known> {
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  const stored = await readStoredResources({ kafka, topology, log });
  return { stored, destinations: ids.map((id) => requireDestination(stored, id)) };
}

/**
 * In their order: the topic has one partition.
 * @param signal some time after it, this ends although Kafka is away
 * @throws PostriderError `stopped`
 */
export async function writePauses(
  { withProducer }: ServiceAccess,
  records: readonly OutgoingRecord[],
  signal?: AbortSignal,
): Promise<void> {
  const stopped = new PostriderError(
    'stopped',
    'Kafka did not answer until this had to end; `resume` goes on when it is repeated',
  );
  const givenUp = signal && timeToEnd(signal).then(() => Promise.reject(stopped));
  await withProducer((producer) => producer.send(records), givenUp);
}
