import { setTimeout as delay } from 'node:timers/promises';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { ConsumeLoop } from '../kafka/consume/consume-loop.ts';
import { observeReading } from '../kafka/consume/consume-metrics.ts';
import { lagByTopic, oldestByTopic } from '../kafka/consume/lag.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { Role } from '../ops/role.ts';
import { waitAtMost } from '../ops/wait-at-most.ts';
import type { Config } from '../resources/config/config.ts';
import { fenceMs, type Fence } from '../resources/fence/fence.ts';
import type { Topology } from '../topology.ts';
import { AddressGuard } from './http/address-guard.ts';
import { DedicatedTopics } from './dedicated-topics.ts';
import { DeliveryEngine } from './engine.ts';
import { DeliveryEvents } from './events.ts';
import { HttpSender } from './http/http-sender.ts';
import { DeliveryMetrics, exposeFence, exposeState } from './metrics.ts';
import { CachingResolver } from './http/name-resolver.ts';
import { noIndexes } from './lane/work-shares.ts';
import { startReader } from './reader.ts';

export interface DeliveryDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly config: Config;
  readonly fence: Fence;
  readonly producer: Producer;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** For one whole attempt. */
  readonly timeoutMs: number;
  readonly retryWindowMs: number;
  readonly maxAgeMs: number;
  readonly maxInFlight: number;
  readonly maxInFlightPerDestination: number;
  /** CIDRs that the address guard lets through although they are not public. */
  readonly allowNetworks: readonly string[];
}

const idlePollMs = 10;
/** For a commit and leaving the group, after everything in flight has ended. */
const leaveMs = 2_000;

/**
 * Delivers events, fresh and retried, to their destinations' endpoints.
 * @throws PostriderError `setting-invalid` for a network that is none, `kafka-unavailable`
 */
export async function startDelivery(deps: DeliveryDeps): Promise<Role> {
  const { kafka, topology, config, clock, metrics } = deps;
  const log = deps.log.child({ role: 'delivery' });
  const events = new DeliveryEvents(
    log,
    new DeliveryMetrics(metrics, topology.retryTiersMs),
    clock,
  );
  const sender = new HttpSender({
    timeoutMs: deps.timeoutMs,
    guard: new AddressGuard(deps.allowNetworks),
    resolver: new CachingResolver(clock),
    clock,
  });
  const engine = createEngine(deps, sender, events);
  config.onChange(({ kind, id }) => {
    if (kind === 'Destination') engine.destinationChanged(id);
  });

  const isRetryTopic = (topic: string): boolean => topology.retryTierMs(topic) !== undefined;
  const read = (
    groupId: string,
    topics: readonly string[],
    homeTopic: string,
    dedicatedTo?: string,
  ): Promise<ConsumeLoop> =>
    startReader({
      ...{ kafka, clock, log, engine, groupId, topics, isRetryTopic, homeTopic, dedicatedTo },
      observer: {
        ...observeReading(metrics, topics),
        joined: (partitions) => {
          const kind = dedicatedTo === undefined ? 'shared' : 'dedicated';
          events.joined(groupId, kind, partitions);
        },
        commitFailed: (error) => {
          events.commitFailed(groupId, error);
        },
      },
      mayTakeMore: () => !deps.producer.isFull,
      redelivered: (records) => {
        events.redelivered(records);
      },
    });
  const dedicated = new DedicatedTopics({
    ...{ kafka, topology, config, clock, events },
    read: (topic, groupId, destinationId) => read(groupId, [topic], topic, destinationId),
    left: (destinationId) => {
      engine.sharesChanged(noIndexes, destinationId);
    },
  });
  const shared = await read(
    topology.groups.delivery,
    await sharedTopics(kafka, topology),
    homeTopicOf(topology),
  );
  await dedicated.start();
  exposeState(
    metrics,
    () => engine.state(),
    () => {
      const loops = [shared, ...dedicated.readers];
      const oldestAgeMs = oldestByTopic(loops, clock.now());
      return {
        lag: lagByTopic(loops),
        oldestAgeMs,
        tierMs: (topic) => topology.retryTierMs(topic),
      };
    },
  );
  exposeFence(metrics, deps.fence);
  config.onChange(({ kind }) => {
    if (kind === 'Destination') void dedicated.look();
  });

  let stopping = false;
  return {
    name: 'delivery',
    ready: () => !stopping && shared.joined && dedicated.readers.every((reader) => reader.joined),
    stop: async (graceMs) => {
      stopping = true;
      engine.stop();
      const untilMs = clock.now() + graceMs;
      while (!engine.isIdle && clock.now() < untilMs) await delay(idlePollMs);
      // What still waits stays uncommitted, for the next owner: there is nothing to wait for.
      await Promise.all([shared.stop(0), dedicated.stop(0)]);
      engine.close();
      await waitAtMost(leaveMs, sender.close());
    },
  };
}

function createEngine(
  deps: DeliveryDeps,
  sender: HttpSender,
  events: DeliveryEvents,
): DeliveryEngine {
  const { topology, config, fence, producer, clock } = deps;
  return new DeliveryEngine({
    clock,
    random: Math.random,
    sender,
    sink: producer,
    destinations: config,
    fence,
    fenceMs: fenceMs(deps.timeoutMs),
    topics: {
      retryTopic: (tierMs) => topology.retryTopic(tierMs),
      dedicatedTopic: (destinationId) => topology.dedicatedTopic(destinationId).name,
      retryTierMs: (topic) => topology.retryTierMs(topic),
      deadLetter: topology.topics.deadLetter,
    },
    policy: {
      tiersMs: topology.retryTiersMs,
      windowMs: deps.retryWindowMs,
      maxAgeMs: deps.maxAgeMs,
      spillAfterMs: topology.deliveryRetentionMs / 2,
    },
    events,
    maxInFlight: deps.maxInFlight,
    maxInFlightPerDestination: deps.maxInFlightPerDestination,
  });
}

/**
 * What is not at its home is put off to the shortest tier, so that is where its home has to be found: also
 * while topics have different numbers of partitions.
 */
function homeTopicOf(topology: Topology): string {
  return topology.retryTopic(Math.min(...topology.retryTiersMs));
}

/** With the retry topics of former tiers: what waits in them is still to be delivered. */
async function sharedTopics(kafka: KafkaClient, topology: Topology): Promise<string[]> {
  const existing = await withAdmin(kafka, (admin) => admin.topicNames(topology.prefix));
  const retryTopics = existing.filter((topic) => topology.retryTierMs(topic) !== undefined);
  const configured = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  return [topology.topics.delivery, ...new Set([...configured, ...retryTopics])];
}
