import { decodeAssignment } from '../../../src/kafka/consume/assigner.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { seededRandom } from '../../delivery/simulated-clock.ts';
import { SimulatedDeployment } from './deployment.ts';
import type { Attempt } from './endpoints.ts';
import { Ledger } from './ledger.ts';
import type { Scenario } from './scenario.ts';
import { sendCall } from './send-call.ts';
import { VirtualTime } from './virtual-time.ts';

/** As many processes as a large deployment has. Their events are thinned out: each stands for many. */
export interface Fleet {
  readonly workers: number;
  readonly routers: number;
  readonly partitions: number;
  /** Workers that a rolling restart ends at a time. */
  readonly atATime: number;
  readonly callsPerSecond: number;
}

export interface FleetResult {
  /** From the start of all processes at once until each partition has one owner who reads it. */
  readonly formedMs: number;
  /** The longest step of a rolling restart, and all of them. */
  readonly longestStepMs: number;
  readonly restartedMs: number;
  /** From when a worker was killed until others read its partitions. */
  readonly recoveredMs: number;
  readonly rebalances: number;
  readonly calls: number;
  /** Accepted, and not delivered. */
  readonly lost: number;
  /** Deliveries beside the first of an event, while workers were restarted, and after one was killed. */
  readonly repeated: { readonly restart: number; readonly kill: number };
  /** From when a call was accepted until it was first sent. */
  readonly longestWaitMs: { readonly restart: number; readonly kill: number };
  readonly turns: number;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const lookMs = 100;
const mostMs = 2 * minuteMs;
const destinations = 16;

/** Forms the fleet, restarts all of its workers, kills one, and waits until all events have come to an end. */
export async function runFleet(fleet: Fleet): Promise<FleetResult> {
  const scenario = scenarioOf(fleet);
  const time = new VirtualTime(scenario.seed, seededRandom);
  try {
    const deployment = new SimulatedDeployment(time, scenario, () => silentLogger);
    const { brokers, endpoints, topology } = deployment;
    const ledger = new Ledger(deployment);
    const group = brokers.group(topology.groups.delivery);
    const shared = [
      topology.topics.delivery,
      ...topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs)),
    ];

    /** Each partition has one owner, and each of so many workers says that it is ready. */
    const isSettled = (workers: number): boolean => {
      if (!group.isStable || deployment.ready('worker') !== workers) return false;
      const { assignments } = group;
      if (assignments.length !== workers) return false;
      const owned = assignments.flatMap((bytes) => decodeAssignment(bytes));
      const places = new Set(owned.map(({ topic, partition }) => `${topic}/${partition}`));
      const wanted = shared.length * fleet.partitions;
      return owned.length === wanted && places.size === wanted;
    };
    const settled = async (workers: number, what: string): Promise<number> => {
      const fromMs = time.nowMs;
      while (!isSettled(workers)) {
        if (time.nowMs - fromMs > mostMs) throw new Error(`${what}: the group does not settle`);
        await time.pass(lookMs);
      }
      return time.nowMs - fromMs;
    };

    let isStarted = false;
    void deployment.start().then(() => (isStarted = true));
    await time.passUntil(() => isStarted, mostMs);
    await settled(fleet.workers, 'start');
    const formedMs = time.nowMs - time.startMs;

    let isProducing = true;
    const produce = (n: number): void => {
      if (!isProducing) return;
      void sendCall(deployment, ledger, n, `u${n}`);
      time.after(secondMs / fleet.callsPerSecond, () => {
        produce(n + 1);
      });
    };
    produce(0);

    const stepsMs: number[] = [];
    for (let from = 0; from < fleet.workers; from += fleet.atATime) {
      for (let index = from; index < Math.min(from + fleet.atATime, fleet.workers); index += 1)
        deployment.restart('worker', index);
      await time.pass(lookMs);
      stepsMs.push(lookMs + (await settled(fleet.workers, `restart of worker ${from}`)));
    }

    const killedMs = time.nowMs;
    deployment.kill('worker', 0, minuteMs);
    await time.pass(lookMs);
    const recoveredMs = lookMs + (await settled(fleet.workers - 1, 'loss of a worker'));
    await time.pass(minuteMs);
    await settled(fleet.workers, 'return of a worker');
    isProducing = false;

    const ids = scenario.destinations.map(({ id }) => id);
    const untilMs = time.nowMs + mostMs;
    const isOver = (): boolean => {
      ledger.readLogs();
      return ledger.open(ids).length === 0 && ledger.uncommitted().length === 0;
    };
    while (!isOver() && time.nowMs < untilMs) await time.pass(secondMs);
    const { repeated, longestWaitMs } = judge(endpoints.attempts, ledger, killedMs);
    return {
      formedMs,
      longestStepMs: Math.max(...stepsMs),
      restartedMs: stepsMs.reduce((sum, ms) => sum + ms, 0),
      recoveredMs,
      rebalances: group.rebalances,
      calls: ledger.calls.size,
      lost: ledger.open(ids).length + ledger.uncommitted().length,
      repeated,
      longestWaitMs,
      turns: time.turns,
    };
  } finally {
    time.close();
  }
}

function judge(
  attempts: readonly Attempt[],
  ledger: Ledger,
  killedMs: number,
): Pick<FleetResult, 'repeated' | 'longestWaitMs'> {
  const repeated = { restart: 0, kill: 0 };
  const longestWaitMs = { restart: 0, kill: 0 };
  const seen = new Set<string>();
  for (const { destinationId, messageId, atMs } of attempts) {
    const phase = atMs < killedMs ? 'restart' : 'kill';
    const name = `${destinationId} ${messageId}`;
    const acceptedMs = ledger.calls.get(messageId)?.acceptedMs ?? atMs;
    if (seen.has(name)) repeated[phase] += 1;
    else longestWaitMs[phase] = Math.max(longestWaitMs[phase], atMs - acceptedMs);
    seen.add(name);
  }
  return { repeated, longestWaitMs };
}

function scenarioOf({ workers, routers, partitions }: Fleet): Scenario {
  return {
    seed: 1,
    nodes: 3,
    partitions,
    workers,
    routers,
    maxInFlight: 1_024,
    users: 10_000,
    destinations: Array.from({ length: destinations }, (_, index) => ({
      id: `d${index}`,
      urls: [
        {
          url: `https://d${index}.example/0`,
          latencyMs: [50, 150],
          capacity: 64,
          troubles: [],
          goneFromMs: undefined,
        },
      ],
      maxInFlight: undefined,
      rateLimit: undefined,
    })),
    bursts: [],
    faults: [],
    troubledMs: 0,
  };
}
