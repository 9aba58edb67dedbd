import { createTopology } from '../../src/topology.ts';
import type { Topology } from '../../src/topology.ts';
import type { Destination } from '../../src/resources/resource.ts';

/** What the measured processes agree on. */
export interface DeliveryLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
  /** Consumer group of this run: every run reads the same records from the beginning. */
  readonly group: string;
  readonly receiverPort: number;
  readonly destinations: number;
  readonly events: number;
  /** The first ones are not measured. */
  readonly warmUp: number;
  readonly inFlight: number;
}

export const sharedSecret = 'bench';
export const timeoutMs = 5_000;

export function loadTopology(prefix: string): Topology {
  return createTopology({
    prefix,
    partitions: 12,
    replicationFactor: 1,
    retryTiersMs: [10_000, 60_000],
    extraIngestTopics: [],
  });
}

export function destinationId(index: number): string {
  return `d${index}`;
}

export function loadDestinations(load: DeliveryLoad): Destination[] {
  return Array.from({ length: load.destinations }, (_, index) => ({
    kind: 'Destination',
    id: destinationId(index),
    name: destinationId(index),
    sources: ['bench'],
    enabled: true,
    sharedSecret,
    webhooks: [
      { url: `http://127.0.0.1:${load.receiverPort}/${destinationId(index)}`, headers: {} },
    ],
    payload: 'standard',
    topic: 'shared',
  }));
}
