import { randomBytes, randomUUID } from 'node:crypto';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import { createTopology } from '../../../src/topology.ts';
import type { Topology, TopologyOptions } from '../../../src/topology.ts';
import type { BatchRules, Destination } from '../../../src/resources/resource.ts';

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
  /** Undefined: each event goes out alone. */
  readonly batch?: BatchRules;
  /** Over TLS, to a server whose authority `NODE_EXTRA_CA_CERTS` names. */
  readonly overTls?: true;
}

export const sharedSecret = 'bench';
export const timeoutMs = 5_000;

/** How a load's topics differ from those of other loads. */
export type LoadTopology = Partial<Pick<TopologyOptions, 'partitions' | 'retryTiersMs'>>;

export function loadTopology(
  prefix: string,
  { partitions = 12, retryTiersMs = [10_000, 60_000] }: LoadTopology = {},
): Topology {
  return createTopology({
    prefix,
    partitions,
    replicationFactor: 1,
    retryTiersMs,
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
      {
        url: `http${load.overTls === true ? 's' : ''}://127.0.0.1:${load.receiverPort}/${destinationId(index)}`,
        headers: {},
      },
    ],
    payload: 'standard',
    topic: 'shared',
    ...(load.batch === undefined ? {} : { batch: load.batch }),
  }));
}

/** The event with that number, as the router writes it. */
export function eventRecord(
  topic: string,
  destinationId: string,
  n: number,
  properties: object = { filler: filler() },
): { topic: string; key: string; value: string; headers: Record<string, string> } {
  const user = `user-${n % 9_973}`;
  const envelope = {
    destinationId,
    sourceId: 'bench',
    messageId: randomUUID(),
    type: 'track',
    configOffset: 1,
    appendTimeMs: Date.now(),
    attempts: 0,
  } as const;
  return {
    topic,
    key: deliveryKey(destinationId, user),
    value: JSON.stringify({
      version: 1,
      type: 'track',
      userId: user,
      event: 'Order Completed',
      properties,
    }),
    headers: { [envelopeHeader]: encodeEnvelope(envelope) },
  };
}

/** 300 bytes that compress to about half, as real events do. */
export function filler(): string {
  return randomBytes(150).toString('hex');
}
