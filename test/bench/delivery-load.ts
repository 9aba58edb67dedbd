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

/** What a measured process prints. */
export interface DeliveryMeasurement {
  readonly deliveries: number;
  readonly cpuUs: number;
  readonly wallMs: number;
  readonly rssBytes: number;
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

/** Waits until `delivered` has reached the end, and measures from the end of the warm-up on. */
export async function measure(
  load: DeliveryLoad,
  delivered: () => Promise<number> | number,
): Promise<DeliveryMeasurement> {
  const reach = async (count: number): Promise<number> => {
    for (;;) {
      const now = await delivered();
      if (now >= count) return now;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const first = await reach(load.warmUp);
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  const last = await reach(load.events);
  const cpu = process.cpuUsage(cpuBefore);
  return {
    deliveries: last - first,
    cpuUs: cpu.user + cpu.system,
    wallMs: performance.now() - startedMs,
    rssBytes: process.memoryUsage.rss(),
  };
}
