import { setTimeout as delay } from 'node:timers/promises';
import { startCluster, type DevCluster } from '../../../../src/dev/broker.ts';
import { KafkaView } from '../../../harness/kafka-view.ts';
import type { Day, Felt, Scene } from './day.ts';
import { startDayEndpoints, type DayEndpoints } from './endpoints.ts';
import { destinationOf, eventFor, startPlatform, type Platform } from './platform.ts';

const partitions = 12;
/**
 * A hundred events a second for each partition, so that a worker has to fetch during an election. All slots are taken:
 * a worker puts nothing off then, because it is itself what is slow.
 */
const slots = 10 * partitions;
const backlogOfEach = 5_000;
const chunk = 1_000;
const aloneMs = 10_000;
const mostElectingMs = 60_000;
const mostResumingMs = 5_000;

/** Kafka's, if nothing is set. */
const usualSession = {
  'broker.session.timeout.ms': '9000',
  'broker.heartbeat.interval.ms': '2000',
};

/**
 * Each broker of three crashes while workers have a backlog. Nothing new can be delivered before Kafka has noticed:
 * what is written is not readable until all replicas in sync have it, and the crashed broker still counts as one.
 */
export const lostBroker: Day = {
  name: 'lost broker',
  live: async (scene) => {
    const cluster = await startCluster(3, {
      extra: { listeners: [], properties: usualSession, logLevels: {} },
    });
    const backlog = await startBacklog({ ...scene, brokers: cluster.brokers });
    const felt: Felt[] = [];
    for (const nodeId of [1, 2, 3]) felt.push(await without(nodeId, cluster, backlog, scene));
    await backlog.close();
    await cluster.stop();
    return felt;
  },
};

async function without(
  nodeId: number,
  cluster: DevCluster,
  backlog: Backlog,
  scene: Scene,
): Promise<Felt> {
  const brokers = cluster.brokers.filter((_, index) => index + 1 !== nodeId);
  const kafka = new KafkaView(brokers, scene.prefix);
  await kafka.allInSync();
  await backlog.write();
  await delay(2_000);
  const aloneFromMs = performance.now();
  await delay(aloneMs);
  const leaders = await kafka.leaders('delivery');
  const killedMs = performance.now();
  await cluster.kill(nodeId);
  const electedMs = await elected(kafka, nodeId, killedMs);
  await delay(mostResumingMs);
  const endMs = performance.now();
  await cluster.start(nodeId);
  const isLost = (partition: number): boolean => leaders.get(partition) === nodeId;
  const numbers = [...leaders.keys()];
  const kept = numbers.filter((partition) => !isLost(partition));
  const silenceMs = (among: readonly number[], fromMs: number, untilMs: number): number =>
    Math.max(0, ...among.map((partition) => backlog.longestSilenceMs(partition, fromMs, untilMs)));
  const lostMs = silenceMs(numbers.filter(isLost), killedMs, endMs);
  const electionMs = electedMs - killedMs;
  return {
    what: `broker ${nodeId} of three crashes: longest silence of the ${kept.length} of ${partitions} partitions that others lead`,
    aloneP99Ms: silenceMs(kept, aloneFromMs, killedMs),
    p99Ms: silenceMs(kept, killedMs, endMs),
    events: [backlog.arrivals(killedMs, endMs), backlog.arrivals(aloneFromMs, killedMs)],
    told: `Kafka elected leaders after ${(electionMs / 1_000).toFixed(1)} s; the longest silence of the partitions that this broker led was ${(lostMs / 1_000).toFixed(1)} s`,
    isWell: lostMs <= electionMs + mostResumingMs,
  };
}

async function elected(kafka: KafkaView, nodeId: number, killedMs: number): Promise<number> {
  while (performance.now() < killedMs + mostElectingMs) {
    await delay(100);
    const leaders = await kafka.leaders('delivery').catch(() => new Map([[0, nodeId]]));
    if ([...leaders.values()].every((leader) => leader !== nodeId && leader >= 0)) break;
  }
  return performance.now();
}

/** In each partition of `delivery` more than its destination takes, and when what arrived. */
class Backlog {
  readonly #platform: Platform;
  readonly #endpoints: DayEndpoints;
  readonly #arrivedMs: number[][] = Array.from({ length: partitions }, () => []);

  constructor(platform: Platform, endpoints: DayEndpoints) {
    this.#platform = platform;
    this.#endpoints = endpoints;
  }

  async write(): Promise<void> {
    const { producer, topology } = this.#platform;
    const { delivery } = topology.topics;
    for (let written = 0; written < backlogOfEach; written += chunk)
      for (let partition = 0; partition < partitions; partition += 1) {
        const event = (): ReturnType<typeof eventFor> =>
          eventFor(delivery, `d${partition}`, `partition-${partition}`);
        await producer.send(Array.from({ length: chunk }, () => ({ ...event(), partition })));
      }
  }

  arrived(body: string): void {
    const [, partition = ''] = /"messageId":"partition-(\d+)"/.exec(body) ?? [];
    this.#arrivedMs[Number(partition)]?.push(performance.now());
  }

  arrivals(fromMs: number, untilMs: number): number {
    return this.#arrivedMs.flat().filter((ms) => ms >= fromMs && ms < untilMs).length;
  }

  longestSilenceMs(partition: number, fromMs: number, untilMs: number): number {
    const within = (this.#arrivedMs[partition] ?? []).filter((ms) => ms > fromMs && ms < untilMs);
    const times = [fromMs, ...within, untilMs];
    return Math.max(...times.slice(1).map((ms, at) => ms - (times[at] ?? ms)));
  }

  async close(): Promise<void> {
    await this.#platform.close();
    this.#endpoints.close();
  }
}

async function startBacklog(scene: Scene): Promise<Backlog> {
  const endpoints = await startDayEndpoints();
  const platform = await startPlatform(scene, {
    replicas: 3,
    partitions,
    eventsPerSecond: 1,
    slots,
    resources: () =>
      Array.from({ length: partitions }, (_, index) =>
        destinationOf(`d${index}`, endpoints.url('127.0.0.1', 'paced')),
      ).flat(),
  });
  const backlog = new Backlog(platform, endpoints);
  endpoints.onHealthy = (body) => {
    backlog.arrived(body);
  };
  return backlog;
}
