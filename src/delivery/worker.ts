import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeptAttempts } from '../event/attempt-line.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { ConsumeLoop } from '../kafka/consume/consume-loop.ts';
import {
  lagByTopic,
  observeReading,
  oldestByTopic,
  unreadBefore,
} from '../kafka/consume/consume-metrics.ts';
import type { WindowLimits } from '../kafka/consume/window.ts';
import { objectiveMs } from '../event/limits.ts';
import { asKafka } from '../kafka/produce/kafka-clock.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { Role } from '../ops/role.ts';
import { waitAtMost } from '../ops/wait.ts';
import { exposeClientCertificates } from '../resources/client-certificate.ts';
import type { Config } from '../resources/config/config.ts';
import { fenceMs, type DeletionTimes, type Fence } from '../resources/fence/fence.ts';
import { destinationIdOf, notifyDestinationId } from '../resources/notice-hook.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import type { Topology } from '../topology.ts';
import { DedicatedTopics } from './dedicated-topics.ts';
import { DeliveryEngine } from './engine.ts';
import { DeliveryEvents } from './events.ts';
import { AttemptJournal } from './journal/journal.ts';
import {
  DeliveryMetrics,
  exposeBudget,
  exposeFailing,
  exposeFence,
  exposeJournal,
  exposeOverdue,
  exposeState,
} from './metrics.ts';
import type { Backlog, EngineState } from './metrics.ts';
import { noIndexes } from './lane/work-shares.ts';
import { startReader, workerBudgets, type Budgets } from './reader.ts';
import type { Sender } from './sender.ts';
import { overdueAmong, overdueInAll } from './status/objective.ts';
import { StatusPublisher, type StatusPublisherOptions } from './status/status-publisher.ts';

export interface DeliveryDeps extends DeletionTimes {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly config: Config;
  readonly fence: Fence;
  readonly pauses: Pick<FollowedPauses, 'has' | 'isFresh' | 'recalls' | 'onChange' | 'onRecall'>;
  readonly producer: Producer;
  /** Closed when the role stops. */
  readonly sender: Sender;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  readonly retryWindowMs: number;
  readonly maxAgeMs: number;
  readonly attempts: KeptAttempts;
  readonly maxInFlight: number;
  readonly maxInFlightPerDestination: number;
  /** The most that it reads ahead of all partitions together; default: what the heap has room for. */
  readonly budget?: WindowLimits | undefined;
}

const idlePollMs = 10;
const lookAtPartitionsMs = 10_000;
/** The time for a commit and for leaving the group, after everything in flight has ended. */
const leaveMs = 2_000;

/**
 * Delivers events, fresh and retried, to their destinations' endpoints.
 * @throws PostriderError `kafka-unavailable`
 */
export async function startDelivery(deps: DeliveryDeps): Promise<Role> {
  const { kafka, topology, config, clock, metrics } = deps;
  const log = deps.log.child({ role: 'delivery' });
  const journal = await openJournal(deps);
  const events = new DeliveryEvents(
    log,
    new DeliveryMetrics(metrics, topology.retryTiersMs),
    clock,
    journal,
  );
  const engine = createEngine(deps, events);
  config.onChange((change) => {
    const id = destinationIdOf(change);
    if (id === undefined) return;
    engine.destinationChanged(id);
    engine.destinationChanged(notifyDestinationId(id));
  });
  deps.pauses.onChange((id) => {
    engine.destinationChanged(id);
  });
  deps.pauses.onRecall((id) => {
    engine.recalled(id);
  });

  const budgets = workerBudgets(deps.budget);
  const read = (what: Reading): ConsumeLoop =>
    openReader({ ...deps, log }, { engine, events, budgets }, what);
  const dedicated = new DedicatedTopics({
    kafka,
    topology,
    config,
    clock,
    events,
    read: (topic, groupId, dedicatedTo) =>
      read({ groupId, topics: [topic], homeTopic: topic, dedicatedTo }),
    left: (destinationId) => {
      engine.sharesChanged(noIndexes, destinationId);
    },
  });
  const shared = read({
    groupId: topology.groups.delivery,
    topics: await sharedTopics(kafka, topology),
    homeTopic: homeTopicOf(topology),
    dedicatedTo: undefined,
  });
  // Not waited for: while a broker hangs that takes long, and who is told to stop meanwhile must stop in order.
  void dedicated.look();
  const loops = (): readonly ConsumeLoop[] => [shared, ...dedicated.readers];
  const backlog = (): Backlog => ({
    lag: lagByTopic(loops()),
    oldestAgeMs: oldestByTopic(loops(), clock.now()),
    tierMs: (topic) => topology.retryTierMs(topic),
  });
  const status = new StatusPublisher({
    clock: asKafka(clock, deps.producer),
    random: Math.random,
    producer: deps.producer,
    topic: topology.topics.destinationStatus,
    worker: `${hostname()}-${randomBytes(3).toString('hex')}`,
    reports: engine.reports,
    self: () => selfStatus(engine.state(), backlog()),
  });
  exposeState(metrics, () => engine.state(), backlog);
  exposeOverdue(metrics, () => overdueByTopic(deps, engine, loops()));
  exposeFailing(
    metrics,
    () => engine.reports.standings(),
    () => clock.now(),
  );
  exposeBudget(metrics, () => budgets.inFlight.share);
  exposeFence(metrics, deps.fence);
  exposeClientCertificates(metrics, config);
  exposeJournal(metrics, journal);
  config.onChange(({ kind, id }) => {
    if (kind === 'Destination') dedicated.changed(id);
  });

  let stopping = false;
  return {
    name: 'delivery',
    ready: () => !stopping && shared.joined && dedicated.areJoined,
    stop: async (graceMs) => {
      stopping = true;
      engine.stop();
      const untilMs = clock.steadyNow() + graceMs;
      while (!engine.isIdle && clock.steadyNow() < untilMs) await delay(idlePollMs);
      // What still waits stays uncommitted, for the next owner: there is nothing to wait for.
      await Promise.all([shared.stop(0), dedicated.stop(0)]);
      engine.close();
      await Promise.all([
        waitAtMost(leaveMs, deps.sender.close()),
        journal?.close(leaveMs),
        status.close(leaveMs),
      ]);
    },
  };
}

/** The topics that a consumer group reads, and the destination that they are for. */
interface Reading {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** See `homeTopicOf`. */
  readonly homeTopic: string;
  /** The only destination of their events; undefined: they have events of all. */
  readonly dedicatedTo: string | undefined;
}

/** The parts that all readers of a worker share. */
interface ReadingParts {
  readonly engine: DeliveryEngine;
  readonly events: DeliveryEvents;
  readonly budgets: Budgets;
}

function openReader(
  { kafka, topology, clock, log, metrics, producer }: DeliveryDeps,
  { engine, events, budgets }: ReadingParts,
  { groupId, topics, homeTopic, dedicatedTo }: Reading,
): ConsumeLoop {
  return startReader({
    kafka,
    clock,
    log,
    engine,
    groupId,
    topics,
    isRetryTopic: (topic) => topology.retryTierMs(topic) !== undefined,
    homeTopic,
    dedicatedTo,
    budgets,
    observer: {
      ...observeReading(metrics, topics),
      joined: (partitions) => {
        const kind = dedicatedTo === undefined ? 'shared' : 'dedicated';
        events.joined(groupId, kind, partitions);
      },
      commitFailed: (error) => {
        events.commitFailed(groupId, error);
      },
      redelivered: (records) => {
        events.redelivered(records);
      },
    },
    mayTakeMore: () => !producer.isFull,
  });
}

/** Fresh events that wait for longer than the objective allows; those in retry topics wait for their due time. */
function* overdueByTopic(
  { topology, clock }: DeliveryDeps,
  engine: DeliveryEngine,
  loops: readonly ConsumeLoop[],
): Generator<readonly [string, number]> {
  const nowMs = clock.now();
  const waiting = overdueAmong(engine.waiting(), engine.spells, nowMs);
  for (const [topic, unread] of unreadBefore(loops, nowMs - objectiveMs, nowMs))
    if (topology.retryTierMs(topic) === undefined)
      yield [topic, overdueInAll(waiting.get(topic), unread)];
}

function selfStatus(
  { inFlight, queued, isCutOff }: EngineState,
  { lag, oldestAgeMs }: Backlog,
): ReturnType<StatusPublisherOptions['self']> {
  const topics = Object.fromEntries(
    Array.from(lag, ([topic, records]) => [
      topic,
      { lag: records, oldestMs: oldestAgeMs.get(topic) ?? 0 },
    ]),
  );
  return { inFlight, queued, isCutOff, topics };
}

async function openJournal(deps: DeliveryDeps): Promise<AttemptJournal | undefined> {
  const { attempts: keeps, producer, topology, clock } = deps;
  if (keeps === 'off') return undefined;
  const topic = topology.topics.attempts;
  let count = await producer.partitionCount(topic);
  let askedMs = clock.steadyNow();
  // Whoever looks for a line computes its partition from how many there are by then.
  const partitions = (): number => {
    if (clock.steadyNow() - askedMs >= lookAtPartitionsMs) {
      askedMs = clock.steadyNow();
      void producer.partitionCount(topic).then((known) => (count = known));
    }
    return count;
  };
  return new AttemptJournal({ producer, topic, partitions, clock, keeps });
}

function createEngine(deps: DeliveryDeps, events: DeliveryEvents): DeliveryEngine {
  const { topology, config, fence, producer, sender } = deps;
  return new DeliveryEngine({
    // By a clock that is ahead, retries would be due as soon as they are written, again and again.
    clock: asKafka(deps.clock, producer),
    random: Math.random,
    busyShare: busyShareOfProcess(),
    sender,
    sink: producer,
    destinations: config,
    fence,
    paused: deps.pauses,
    fenceMs: fenceMs(deps),
    topics: {
      retryTopic: (tierMs) => topology.retryTopic(tierMs),
      dedicatedTopic: (destinationId) => topology.dedicatedTopic(destinationId).name,
      retryTierMs: (topic) => topology.retryTierMs(topic),
      deadLetter: topology.topics.deadLetter,
      paused: topology.topics.paused,
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
 * An event that is not at its home is put off to the shortest tier. Homes must therefore be found there, even
 * while topics have different numbers of partitions.
 */
function homeTopicOf(topology: Topology): string {
  return topology.retryTopic(Math.min(...topology.retryTiersMs));
}

/** Includes the retry topics of former tiers, whose records still have to be delivered. */
async function sharedTopics(kafka: KafkaClient, topology: Topology): Promise<string[]> {
  const existing = await withAdmin(kafka, (admin) => admin.topicNames(topology.prefix));
  const retryTopics = existing.filter((topic) => topology.retryTierMs(topic) !== undefined);
  const configured = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  return [topology.topics.delivery, ...new Set([...configured, ...retryTopics])];
}

/** Tells the share of the time since it was last asked in which this process had something to do. */
function busyShareOfProcess(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
