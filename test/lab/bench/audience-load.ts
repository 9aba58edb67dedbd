import { createHash } from 'node:crypto';
import { createTopology, type Topology } from '../../../src/topology.ts';

/** What the measured processes agree on. */
export interface AudienceLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly audienceId: string;
  /** Users by number: from the first up to, and without, the last. */
  readonly users: readonly [first: number, last: number];
  /** Undefined: no checkpoint. */
  readonly directory: string | undefined;
}

/** What a measured process prints. */
export interface AudienceMeasurement {
  readonly changes: number;
  /** By stage; the whole under `all`. */
  readonly ms: Readonly<Record<string, number>>;
  /** Without what loading the code took. */
  readonly cpuMs: number;
  readonly maxRssMb: number;
  readonly rebuilt?: string | undefined;
}

export const changesPerTransaction = 5_000;
export const audiencePartitions = 12;

export function audienceTopology(prefix: string): Topology {
  return createTopology({
    prefix,
    partitions: audiencePartitions,
    replicationFactor: 1,
    retryTiersMs: [10_000],
    extraIngestTopics: [],
  });
}

/** Of 20 characters, in no order, as ids are. */
export const userSql = "'u-' || left(md5(i::varchar), 18)";

/** A record, without its topic. */
interface Part {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The two records that a sync writes for a user who is new in the audience. */
export function changeOf(
  audienceId: string,
  sync: string,
  index: number,
): { readonly call: Part; readonly member: Part } {
  const userId = `u-${createHash('md5').update(String(index)).digest('hex').slice(0, 18)}`;
  const call = JSON.stringify({
    type: 'identify',
    messageId: `${sync}-${index}`,
    userId,
    traits: { big_spenders: true },
    context: { audience: { id: audienceId, name: 'Big Spenders', sync } },
    timestamp: sync,
  });
  return {
    call: { key: userId, value: call, headers: { 'audience-source': 'shop' } },
    member: { key: `${audienceId}:${userId}`, value: 'true', headers: {} },
  };
}

/** In the measured process: runs `work`, and prints what it took. */
export async function measureAudience(
  work: () => Promise<Pick<AudienceMeasurement, 'changes' | 'ms' | 'rebuilt'>>,
): Promise<void> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  const { ms, ...found } = await work();
  const { user, system } = process.cpuUsage(before);
  const measurement: AudienceMeasurement = {
    ...found,
    ms: { ...ms, all: performance.now() - startedMs },
    cpuMs: (user + system) / 1_000,
    maxRssMb: process.resourceUsage().maxRSS / 1_024,
  };
  console.log(JSON.stringify(measurement));
}
