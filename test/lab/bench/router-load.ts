import { createTopology, type Topology } from '../../../src/topology.ts';

/** What the measured processes agree on. */
export interface RouterLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
  /** Consumer group of this run: every run reads the same calls from the beginning. */
  readonly group: string;
  /** The first deliveries are not measured. */
  readonly warmUp: number;
  /** Calls times copies. */
  readonly total: number;
}

export const copiesPerCall = 3;

export function loadTopology({ prefix, group }: Pick<RouterLoad, 'prefix' | 'group'>): Topology {
  const topology = createTopology({
    prefix,
    partitions: 12,
    replicationFactor: 1,
    retryTiersMs: [10_000],
    extraIngestTopics: [],
  });
  return { ...topology, groups: { ...topology.groups, router: group } };
}
