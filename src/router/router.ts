import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaClient } from '../kafka/client.ts';
import { startConsumeLoop } from '../kafka/consume/consume-loop.ts';
import {
  lagByTopic,
  observeReading,
  oldestByTopic,
  unfinishedBefore,
} from '../kafka/consume/consume-metrics.ts';
import { objectiveMs } from '../event/limits.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { Role } from '../ops/role.ts';
import type { SuppressedUsers } from '../resources/suppressions/suppressed-users.ts';
import type { Topology } from '../topology.ts';
import { CallRouter, type PendingCall } from './call-router.ts';
import { Duplicates } from './duplicates.ts';
import { RouterEvents } from './events.ts';
import { checkIngestTopics } from './ingest-topics.ts';
import { exposeState, RouterMetrics } from './metrics.ts';
import type { RegistryAccess } from '../schemas/registry-client.ts';
import { openSchemas } from '../schemas/open-schemas.ts';
import { Routes, type RouterConfig } from './route-call.ts';

export interface RouterDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly config: RouterConfig;
  readonly suppressed: SuppressedUsers;
  readonly producer: Producer;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** The time for which a call's message id is remembered; 0: duplicates are not looked for. */
  readonly dedupeWindowMs: number;
  /**
   * The access to the registry of typed records' schemas as it is now; undefined: such records are
   * rejected.
   */
  readonly registry?: (() => RegistryAccess) | undefined;
}

/**
 * The window of one partition: three thousand calls over twelve, which is what fills the producer's
 * batches, and a fetch about as large. Larger ones take more memory (550 MB at 4,096 records) and
 * no less CPU time.
 */
const windowRecords = 256;
const windowBytes = 512 * 1024;
const maxBytesPerPartition = 32 * 1024;

/** 1.3 MB of memory; ten minutes of 55 calls a second. */
const mostIdsPerPartition = 32_768;

/** The interval at which a router that stops checks whether everything is acknowledged. */
const idlePollMs = 10;

/**
 * Reads calls from every ingest topic and writes one record per destination that wants them.
 * @throws PostriderError `topics-differ` if an ingest topic is missing or not fit to be read
 */
export async function startRouter(deps: RouterDeps): Promise<Role> {
  const { kafka, topology, config, producer, clock, metrics } = deps;
  const log = deps.log.child({ role: 'router' });
  await checkIngestTopics(kafka, topology);

  const counts = new RouterMetrics(metrics);
  const events = new RouterEvents(log, counts, clock);
  const duplicates = new Duplicates<PendingCall>({
    windowMs: deps.dedupeWindowMs,
    mostIds: mostIdsPerPartition,
    onPushedOut: () => {
      events.idPushedOut();
    },
  });
  const schemas = await openSchemas(deps.registry, clock, (id, error) => {
    router.schemaDelayed(id, error);
  });
  const deliveryTopics = {
    shared: topology.topics.delivery,
    dedicated: (destinationId: string) => topology.dedicatedTopic(destinationId).name,
  };
  const router = new CallRouter({
    routes: new Routes(config, deliveryTopics),
    caughtUp: () => config.caughtUp(),
    sink: producer,
    sharedTopic: topology.topics.delivery,
    clock,
    rejectedTopic: topology.topics.ingestRejected,
    audienceTopic: topology.topics.ingestAudience,
    suppressed: deps.suppressed,
    duplicates,
    schemas,
    events,
  });
  const loop = startConsumeLoop(kafka, {
    groupId: topology.groups.router,
    topics: topology.ingestTopics,
    windowRecords,
    windowBytes,
    maxBytesPerPartition,
    mayTakeMore: () => !producer.isFull,
    clock,
    log,
    onRecords: (records) => {
      router.take(records);
    },
    // Lost partitions need no further step: copies that are on their way just come to their end.
    onRevoked: (partitions) => {
      router.drop(partitions);
    },
    observer: {
      ...observeReading(metrics, topology.ingestTopics),
      joined: (partitions) => {
        events.joined(partitions);
      },
    },
  });
  const overdueCalls = (): Map<string, number> => {
    const nowMs = clock.now();
    const overdue = unfinishedBefore([loop], nowMs - objectiveMs, nowMs);
    overdue.delete(topology.topics.ingestAudience);
    return overdue;
  };
  exposeState(metrics, () => ({
    inFlight: loop.inFlightRecords,
    held: router.heldCalls,
    stalled: router.stalledRecords,
    rememberedIds: duplicates.ids,
    lag: lagByTopic([loop]),
    oldestAgeMs: oldestByTopic([loop], clock.now()),
    overdue: overdueCalls(),
  }));
  let stopping = false;
  return {
    name: 'router',
    ready: () => loop.joined && !stopping,
    stop: async (graceMs) => {
      stopping = true;
      router.stop();
      const untilMs = clock.steadyNow() + graceMs;
      while (!router.isIdle && clock.steadyNow() < untilMs) await delay(idlePollMs);
      // What still waits stays uncommitted, for the next owner: there is nothing to wait for.
      await loop.stop(0);
    },
  };
}
