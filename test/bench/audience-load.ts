import { createTopology, type Topology } from '../../src/topology.ts';

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
  readonly cpuMs: number;
  readonly maxRssMb: number;
  readonly rebuilt?: string;
}

export const changesPerTransaction = 5_000;

export function audienceTopology(prefix: string): Topology {
  const replication = { partitions: 12, replicationFactor: 1, retryTiersMs: [10_000] };
  return createTopology({ prefix, ...replication, extraIngestTopics: [] });
}

/** Of 20 characters, in no order, as ids are. */
export const userSql = "'u-' || left(md5(i::varchar), 18)";
