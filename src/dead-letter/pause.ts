import { PostriderError } from '../errors.ts';
import type { Identity } from '../event/uid.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { timeToEnd } from '../ops/wait.ts';
import { requireDestination } from '../resources/config/stored-resources.ts';
import { recordKey } from '../resources/config/stored.ts';
import { pauseRecord, resumedRecord, type Pause } from '../resources/pauses/pause.ts';
import { readPauses } from '../resources/pauses/pauses.ts';
import { requireTopics } from '../resources/require-topics.ts';
import type { Destination } from '../resources/resource.ts';
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
  const [destination = { id }] = await findDestinations(access, [id]);
  const pauses = await readPauses(kafka, topology);
  const before = pauses.get(destination);
  const keptForMs = topology.pausedRetentionMs;
  if (before !== undefined) return { pause: before, wasPaused: true, keptForMs };
  const { pauses: topic } = topology.topics;
  const begun = pauses.begin(destination, clock.now());
  await writePauses(access, [
    pauseRecord(topic, destination, begun),
    resumedRecord(topic, destination, undefined),
  ]);
  return { pause: begun, wasPaused: false, keptForMs };
}

/** A destination that somebody has named. */
export interface NamedDestination extends Identity {
  /** Its secrets are sealed. Undefined: this version cannot read its record. */
  readonly resource: Destination | undefined;
}

/**
 * The destinations, in the order of the ids.
 * @throws PostriderError `not-found` for a destination or a topic
 */
export async function findDestinations(
  access: ServiceAccess,
  ids: readonly string[],
): Promise<readonly NamedDestination[]> {
  await requirePauseTopics(access);
  return access.withConfig(({ resources }) => {
    const named = ids.map((id): NamedDestination => {
      const identity = requireDestination(resources, id);
      const resource = resources.get(recordKey({ kind: 'Destination', id }))?.sealed?.sealed;
      return { ...identity, resource: resource?.kind === 'Destination' ? resource : undefined };
    });
    return Promise.resolve(named);
  });
}

/** @throws PostriderError `not-found` */
export async function requirePauseTopics({ kafka, topology }: ServiceAccess): Promise<void> {
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
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
