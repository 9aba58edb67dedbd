import { randomUUID } from 'node:crypto';
import { PostriderError } from '../errors.ts';
import { asKafka } from '../kafka/produce/kafka-clock.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import { SendWindow } from '../kafka/produce/send-window.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { FollowedResources } from '../resources/config/config-topic.ts';
import { recordKey } from '../resources/config/stored.ts';
import type { StoredResources } from '../resources/config/stored-resources.ts';
import { partitionKeyOf } from '../resources/resource.ts';
import { deletionRecord } from '../resources/fence/fence.ts';
import type { Topology } from '../topology.ts';
import { affectedBy, type AffectedSource } from './affected.ts';
import { notificationRecord, planDeparture, type Notification } from './notification.ts';

export interface DeleteUsersOptions {
  readonly userIds: readonly string[];
  readonly sourceIds: readonly string[];
  readonly config: Pick<FollowedResources, 'resources' | 'offset' | 'caughtUp'>;
  readonly topology: Pick<Topology, 'topics' | 'retryTiersMs' | 'retryTopic'>;
  readonly producer: Pick<Producer, 'produce' | 'clockAheadMs'>;
  readonly clock: SteadyClock;
  /** See `fenceMs`. */
  readonly fenceMs: number;
  /** Ends the run early, between two users. */
  readonly signal: AbortSignal;
  /** So many more users are deleted, and their notifications written. From `atMs` on, they are sent. */
  readonly onDeleted: (users: number, affected: readonly AffectedSource[], atMs: number) => void;
}

/** Number of deletions between two refreshes of the configuration. */
const deletionsAtATime = 1_000;
const mostInFlight = 1_000;

/**
 * Deletes users in groups: their deletions first, and when those are acknowledged, their notifications. A
 * second run repeats everything, because it is not known what receivers did with the first notifications.
 * @throws PostriderError `record-refused` if Kafka can never accept a record
 */
export async function deleteUsers(options: DeleteUsersOptions): Promise<void> {
  const { userIds, sourceIds, config, signal, onDeleted } = options;
  const clock = asKafka(options.clock, options.producer);
  const atATime = Math.max(1, Math.floor(deletionsAtATime / sourceIds.length));
  for (let from = 0; from < userIds.length && !signal.aborted; from += atATime) {
    const some = userIds.slice(from, from + atATime);
    await write(options, deletions(options, some, isoOf(clock.now())));
    // From here on, every destination that may have received an event until now is known.
    await config.caughtUp();
    const affected = affectedBy(config.resources, sourceIds);
    // Receivers compare this time with others, and workers judge by it whether the notification is too old. By the
    // answers for the deletions, the clock is known to be right, or how wrong it is.
    await write(options, notifications(options, some, clock, affected));
    onDeleted(some.length, affected, clock.now() + options.fenceMs);
  }
}

function* deletions(
  { sourceIds, topology }: DeleteUsersOptions,
  userIds: readonly string[],
  time: string,
): Generator<OutgoingRecord> {
  const topic = topology.topics.deletions;
  for (const userId of userIds)
    for (const sourceId of sourceIds) yield deletionRecord(topic, { sourceId, userId, time });
}

function* notifications(
  { config, topology, fenceMs }: DeleteUsersOptions,
  userIds: readonly string[],
  clock: Pick<SteadyClock, 'now'>,
  affected: readonly AffectedSource[],
): Generator<OutgoingRecord> {
  const { retryTiersMs } = topology;
  const time = isoOf(clock.now());
  for (const userId of userIds) {
    for (const { sourceId, destinationIds } of affected) {
      // The same id for all destinations, as a call has.
      const messageId = `delete-${randomUUID()}`;
      for (const destinationId of destinationIds) {
        const { tierMs, dueMs } = planDeparture(retryTiersMs, fenceMs, clock.now());
        yield notificationRecord(topology.retryTopic(tierMs), {
          destinationId,
          ...addressIn(config.resources, destinationId),
          sourceId,
          userId,
          messageId,
          time,
          configOffset: config.offset,
          dueMs,
        });
      }
    }
  }
}

function isoOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function addressIn(
  resources: StoredResources,
  destinationId: string,
): Pick<Notification, 'uid' | 'partitionKey'> {
  const stored = resources.get(recordKey({ kind: 'Destination', id: destinationId }));
  const resource = stored?.sealed?.sealed;
  const partitionKey = resource?.kind === 'Destination' ? partitionKeyOf(resource) : undefined;
  return { uid: stored?.uid, partitionKey };
}

/** Resolves when all records are acknowledged. */
async function write(
  { producer }: DeleteUsersOptions,
  records: Iterable<OutgoingRecord>,
): Promise<void> {
  const inFlight = new SendWindow(mostInFlight);
  let refused: PostriderError | undefined;
  for (const record of records) {
    await inFlight.enter();
    producer.produce(record, (error) => {
      refused ??= error;
      inFlight.leave();
    });
  }
  await inFlight.emptied();
  if (refused !== undefined) throw refused;
}
