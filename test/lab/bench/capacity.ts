import {
  cooperativeProtocol,
  encodeAssignment,
  encodeWishes,
} from '../../../src/kafka/consume/assigner.ts';
import { createTopology, type Topology } from '../../../src/topology.ts';
import { settingsTable } from '../../../src/settings/table.ts';

/** What a deployment of some size needs, from what was measured and what is assumed. */

/** Of events like those of the benchmark. */
export interface Measured {
  /** CPU µs of a delivery role. */
  readonly deliveryUs: number;
  /** CPU µs of a router, for each event that it makes of a call. */
  readonly routerUs: number;
  readonly bodyBytes: number;
  /** As brokers keep them, compressed: an event on its way, or its call, and the line of an attempt. */
  readonly eventBytes: number;
  readonly attemptBytes: number;
}

export interface Load {
  readonly deliveriesPerSecond: number;
  readonly destinations: number;
}

export interface Assumptions {
  readonly destinationsPerCall: number;
  readonly answerMs: number;
  /** Of the core of each process; the rest works off a backlog. */
  readonly busyShare: number;
  /** Of the deliveries; each is written to a retry topic and read once more. */
  readonly putOffShare: number;
  readonly replicas: number;
  /** So that workers can be added, and differ by a quarter at most in what they own. */
  readonly partitionsPerWorker: number;
  /** Around a body: the request's head, and the answer. */
  readonly requestBytes: number;
  readonly answerBytes: number;
  /** What one broker takes: writes with replicas, replicas of partitions, disk. */
  readonly brokerBytesPerSecond: number;
  readonly brokerPartitions: number;
  readonly brokerDiskBytes: number;
}

export const assumptions: Assumptions = {
  destinationsPerCall: 3,
  answerMs: 100,
  busyShare: 0.5,
  putOffShare: 0.02,
  replicas: 3,
  partitionsPerWorker: 4,
  requestBytes: 400,
  answerBytes: 200,
  brokerBytesPerSecond: 100e6,
  brokerPartitions: 4_000,
  brokerDiskBytes: 16e12,
};

export interface Capacity {
  readonly load: Load;
  /** That are busy, of routers and workers together. */
  readonly cores: number;
  readonly workers: number;
  readonly workersFor: 'CPU time' | 'slots';
  readonly routers: number;
  readonly partitions: number;
  readonly brokers: number;
  readonly brokersFor: 'replicas' | 'writes' | 'partitions' | 'disk';
  /** Bytes a second of all brokers together, replication included. */
  readonly brokersIn: number;
  readonly brokersOut: number;
  /** Bytes a second between workers and endpoints. */
  readonly endpointsOut: number;
  readonly endpointsIn: number;
  readonly diskBytes: number;
  /** The fullest first. */
  readonly limits: readonly Limit[];
}

/** Something that doesn't scale by adding processes. */
export interface Limit {
  readonly what: string;
  /** Need as a share of what there is: from 1 on, it breaks. */
  readonly fullness: number;
  readonly then: string;
}

/** A quarter of a worker's slots is for slow endpoints. */
const slotsShare = 0.75;
/** So that one of them can fail. */
const spare = 1;
const partitionStep = 12;

export function capacityFor(
  load: Load,
  measured: Measured,
  given: Assumptions = assumptions,
): Capacity {
  const { deliveriesPerSecond: rate } = load;
  const { deliveryUs, routerUs, eventBytes, attemptBytes, bodyBytes } = measured;
  const coresOf = (us: number): number => (rate * us) / 1e6;
  const byCpu = Math.ceil(coresOf(deliveryUs) / given.busyShare);
  const bySlots = Math.ceil(
    (rate * given.answerMs) / 1_000 / (slotsShare * settingsTable.deliveryMaxInFlight.fallback),
  );
  const workers = Math.max(byCpu, bySlots) + spare;
  const routers = Math.ceil(coresOf(routerUs) / given.busyShare) + spare;
  const partitions =
    partitionStep * Math.ceil((given.partitionsPerWorker * workers) / partitionStep);
  const topology = topologyOf(partitions, given.replicas);

  const calls = rate / given.destinationsPerCall;
  const retries = rate * given.putOffShare;
  const read = (calls + rate + retries) * eventBytes;
  const written = read + rate * attemptBytes;
  const diskBytes = given.replicas * keptBytes(topology, { calls, rate, retries }, measured);
  const replicas = topology.all.reduce((sum, each) => sum + each.partitions, 0) * given.replicas;
  const needs = {
    replicas: given.replicas,
    writes: (written * given.replicas) / given.brokerBytesPerSecond,
    partitions: replicas / given.brokerPartitions,
    disk: diskBytes / given.brokerDiskBytes,
  };
  const brokers = Math.ceil(Math.max(...Object.values(needs)));
  const mostOf = Object.entries(needs) as [Capacity['brokersFor'], number][];
  const [brokersFor] = mostOf.reduce((most, each) => (each[1] > most[1] ? each : most));
  const sized = { load, workers, routers, partitions };
  return {
    ...sized,
    cores: coresOf(deliveryUs + routerUs),
    workersFor: bySlots > byCpu ? 'slots' : 'CPU time',
    brokers,
    brokersFor,
    brokersIn: written * given.replicas,
    brokersOut: written * (given.replicas - 1) + read,
    endpointsOut: rate * (bodyBytes + given.requestBytes),
    endpointsIn: rate * given.answerBytes,
    diskBytes,
    limits: limitsOf(sized, topology, measured, given).toSorted((a, b) => b.fullness - a.fullness),
  };
}

function topologyOf(partitions: number, replicationFactor: number): Topology {
  return createTopology({
    prefix: 'postrider.',
    partitions,
    replicationFactor,
    retryTiersMs: settingsTable.retryTiersMs.fallback,
    extraIngestTopics: [],
  });
}

function keptBytes(
  topology: Topology,
  perSecond: { readonly calls: number; readonly rate: number; readonly retries: number },
  { eventBytes, attemptBytes }: Measured,
): number {
  const { topics, retryTiersMs } = topology;
  const [shortestMs = 0] = retryTiersMs;
  const kept = (topic: string, bytesPerSecond: number): number => {
    const { seconds, mostBytes } = retentionOf(topology, topic);
    return Math.min(bytesPerSecond * seconds, mostBytes);
  };
  return (
    kept(topics.ingest, perSecond.calls * eventBytes) +
    kept(topics.delivery, perSecond.rate * eventBytes) +
    kept(topology.retryTopic(shortestMs), perSecond.retries * eventBytes) +
    kept(topics.attempts, perSecond.rate * attemptBytes)
  );
}

function retentionOf(
  { all }: Topology,
  topic: string,
): { readonly seconds: number; readonly mostBytes: number } {
  const { config = {}, partitions = 0 } = all.find(({ name }) => name === topic) ?? {};
  return {
    seconds: Number(config['retention.ms']) / 1_000,
    mostBytes: Number(config['retention.bytes'] ?? Infinity) * partitions,
  };
}

/** A record of each destination that a worker serves is written anew in this time, and has so many bytes. */
const statusSeconds = 240;
const statusBytes = 500;
/** What a reader of the one partition of `destination-status` takes at half of a core. */
const statusBytesPerSecond = 10e6;
/** Every worker commits five times a second, to the one broker that coordinates the group. */
const commitsPerWorker = 5;
const mostCommits = 5_000;
/** The coordinator keeps a group as one record; Kafka's default for the largest one. */
const mostGroupBytes = 1_048_576;
/** Of a member beside what it says itself: ids, client, host, timeouts. */
const memberBytes = 250;
/** A router's records wait at most so long for others of their partition, and fewer compress worse. */
const flushSeconds = 0.025;
const fewestInBatch = 4;

function limitsOf(
  { load, workers, partitions }: Pick<Capacity, 'load' | 'workers' | 'partitions'>,
  topology: Topology,
  { attemptBytes, routerUs }: Measured,
  { busyShare }: Assumptions,
): Limit[] {
  const { deliveriesPerSecond: rate, destinations } = load;
  const attempts = retentionOf(topology, topology.topics.attempts);
  const attemptSeconds = attempts.mostBytes / (rate * attemptBytes);
  const inBatch = (((busyShare * 1e6) / routerUs) * flushSeconds) / partitions;
  return [
    {
      what: 'TOPIC_PARTITIONS by default',
      fullness: workers / settingsTable.topicPartitions.fallback,
      then: `set ${partitions} before the topics are created`,
    },
    {
      what: 'the history in attempts',
      fullness: attempts.seconds / attemptSeconds,
      then: `it goes back ${(attemptSeconds / 3_600).toFixed(1)} h, not 3 days: raise retention.bytes`,
    },
    {
      what: 'the one partition of destination-status',
      fullness: (workers * destinations * statusBytes) / statusSeconds / statusBytesPerSecond,
      then: 'answers of status are late, and so are notices: give heavy destinations topics of their own',
    },
    {
      what: 'the batches of routers',
      fullness: fewestInBatch / inBatch,
      then: `${inBatch.toFixed(1)} records in each at a router's planned rate: they compress worse, and brokers and workers pay for each batch`,
    },
    {
      what: 'commits to one coordinator',
      fullness: (workers * commitsPerWorker) / mostCommits,
      then: 'commits are late, and a crash repeats more',
    },
    {
      what: "the group's record",
      fullness:
        (workers * (memberBytes + memberOf(topology, partitions / workers))) / mostGroupBytes,
      then: 'no further worker can join',
    },
  ];
}

/** What Kafka keeps of a member that owns so many partitions of each topic. */
function memberOf(topology: Topology, owned: number): number {
  const retryTopics = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  const names = [topology.topics.delivery, ...retryTopics];
  const indices = Array.from({ length: Math.ceil(owned) }, (_, index) => index);
  const counts = new Map(names.map((name) => [name, indices.length]));
  return (
    cooperativeProtocol.length +
    encodeWishes({ topics: names, owned: indices }).length +
    encodeAssignment(indices, counts).length
  );
}
