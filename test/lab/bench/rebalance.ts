import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { decodeAssignment } from '../../../src/kafka/consume/assigner.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import type { RunningRole } from '../../harness/postrider.ts';
import { deploy, type Deployment } from './deployment.ts';
import { summarize, type BenchResult } from './measure.ts';
import { allDestinations, NumberedLoad, partitions } from './rebalance-load.ts';

/** What endpoints notice of delivery workers that are stopped and started, one after the other. */

export interface RebalanceBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

const workers = 4;
const eventsPerSecond = 1_000;
const warmUpMs = 15_000;
/** After every rebalance, until the next one. */
const restMs = 5_000;
/** A silence that begins with a rebalance may end some time after it. */
const aftermathMs = 2_000;
/** What was put off comes back after ten seconds, or once more. */
const mostWaitMs = 120_000;
const mostSilenceMs = 500;

/** Of a step: how long nothing of a partition arrived, in ms. */
interface Step {
  readonly what: string;
  readonly stayed: readonly number[];
  readonly moved: readonly number[];
}

export async function benchRebalance(options: RebalanceBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  const deployment = await deploy(brokers, prefix, allDestinations);
  const { postrider, topology, kafka, arrivals } = deployment;
  const producer = await createProducer(kafka, { log: silentLogger });
  const start = async (): Promise<RunningRole> => postrider.start('delivery');
  const roles: RunningRole[] = [];
  while (roles.length < workers) roles.push(await start());
  const group = new Group(kafka, topology.groups.delivery, topology.topics.delivery);
  await group.open();
  await group.settled(workers);
  const load = new NumberedLoad(producer, topology.topics.delivery, eventsPerSecond);
  await delay(warmUpMs);
  const calm = await step(deployment, group, 'nothing happens', () => delay(restMs));
  const pauses = [load.longestPauseMs];
  const steps: Step[] = [];
  for (const [index, role] of roles.entries()) {
    const act = async (
      what: string,
      action: () => Promise<void>,
      members: number,
    ): Promise<void> => {
      load.longestPauseMs = 0;
      const found = await step(deployment, group, `worker ${index + 1} ${what}`, async () => {
        await action();
        await group.settled(members);
      });
      pauses.push(load.longestPauseMs);
      steps.push(found);
      log(describe(found));
      await delay(restMs);
    };
    const stop = async (): Promise<void> => {
      await role.kill('SIGTERM');
    };
    const startAgain = async (): Promise<void> => {
      roles[index] = await start();
    };
    await act('stops', stop, workers - 1);
    await act('starts', startAgain, workers);
  }
  const written = await load.stop();
  const untilMs = performance.now() + mostWaitMs;
  while (arrivals.unique < written && performance.now() < untilMs) await delay(100);
  await Promise.all(roles.map((role) => role.kill('SIGTERM')));
  const lost = written - arrivals.unique;
  const { repeated } = arrivals;
  await group.close();
  await producer.close(5_000);
  deployment.close();
  return results({ calm, steps, pauses, written, lost, repeated });
}

interface Found {
  readonly calm: Step;
  readonly steps: readonly Step[];
  readonly pauses: readonly number[];
  readonly written: number;
  readonly lost: number;
  readonly repeated: number;
}

function results({ calm, steps, pauses, written, lost, repeated }: Found): BenchResult[] {
  const silences = steps.map(({ stayed }) => Math.max(...stayed));
  const moved = steps.map((each) => Math.max(...each.moved));
  return [
    {
      name: `rebalance: ${workers} workers stopped and started in turn, ${eventsPerSecond} events/s: longest silence of a partition that stays, ms`,
      required: `below ${mostSilenceMs}, in every step`,
      ...summarize(silences),
      passed: silences.every((silence) => silence < mostSilenceMs),
      absolutes: {
        'of one that moves, ms': `${Math.max(...moved).toFixed(0)} at most`,
        'while nothing happens, ms': Math.max(...calm.stayed).toFixed(0),
        'the load itself stood still, ms': Math.max(...pauses).toFixed(0),
      },
    },
    counted('delivered more than once', repeated, written),
    counted('not delivered', lost, written),
  ];
}

function counted(what: string, count: number, written: number): BenchResult {
  return {
    name: `rebalance: events that are ${what}, while a slow endpoint keeps old ones unfinished`,
    required: 'none',
    ...summarize([count]),
    passed: count === 0,
    absolutes: { events: String(written) },
  };
}

async function step(
  { arrivals }: Deployment,
  group: Group,
  what: string,
  action: () => Promise<unknown>,
): Promise<Step> {
  const before = await group.owners();
  const fromMs = performance.now();
  await action();
  await delay(aftermathMs);
  const untilMs = performance.now();
  const after = await group.owners();
  const silences = (didMove: boolean): number[] =>
    Array.from({ length: partitions }, (_, partition) => partition)
      .filter((partition) => (before.get(partition) !== after.get(partition)) === didMove)
      .map((partition) => arrivals.longestSilenceMs(partition, fromMs, untilMs));
  return { what, stayed: silences(false), moved: silences(true) };
}

function describe({ what, stayed, moved }: Step): string {
  const longest = (silences: readonly number[]): string =>
    silences.length === 0 ? 'none' : `${Math.max(...silences).toFixed(0)} ms`;
  return `${what}: ${stayed.length} partitions stay, longest silence ${longest(stayed)}; ${moved.length} move, ${longest(moved)}`;
}

/** Who reads what, as the group's coordinator knows it. */
class Group {
  readonly #admin: ReturnType<KafkaClient['admin']>;
  readonly #groupId: string;
  readonly #topic: string;

  constructor(kafka: KafkaClient, groupId: string, topic: string) {
    this.#admin = kafka.admin();
    this.#groupId = groupId;
    this.#topic = topic;
  }

  async open(): Promise<void> {
    await this.#admin.connect();
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
  }

  /** The member that reads a partition of the topic. */
  async owners(): Promise<ReadonlyMap<number, string>> {
    return (await this.#describe()).owners;
  }

  /** Resolves when there are so many members and somebody reads each partition. */
  async settled(members: number): Promise<void> {
    await eventually(async () => {
      const found = await this.#describe();
      if (found.state === 'Stable' && found.members === members && found.owners.size === partitions)
        return;
      throw new Error(`${found.state}: ${found.members} members read ${found.owners.size}`);
    }, 60_000);
  }

  async #describe(): Promise<{ state: string; members: number; owners: Map<number, string> }> {
    const { groups } = await this.#admin.describeGroups([this.#groupId]);
    const { state = '', members = [] } = groups[0] ?? {};
    const owners = new Map<number, string>();
    for (const { memberId, memberAssignment } of members)
      for (const { topic, partition } of decodeAssignment(memberAssignment))
        if (topic === this.#topic) owners.set(partition, memberId);
    return { state, members: members.length, owners };
  }
}
