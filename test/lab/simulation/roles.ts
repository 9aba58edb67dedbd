import { Registry } from 'prom-client';
import { startDelivery } from '../../../src/delivery/worker.ts';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import type { WindowLimits } from '../../../src/kafka/consume/window.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { startNotices } from '../../../src/notices/notices.ts';
import type { Logger } from '../../../src/ops/log.ts';
import type { SteadyClock } from '../../../src/ops/clock.ts';
import type { Role } from '../../../src/ops/role.ts';
import { startConfig } from '../../../src/resources/config/config-store.ts';
import { startFence } from '../../../src/resources/fence/fence.ts';
import { followPauses } from '../../../src/resources/pauses/pauses.ts';
import { startRouter } from '../../../src/router/router.ts';
import type { Topology } from '../../../src/topology.ts';
import type { Sender } from '../../../src/delivery/sender.ts';
import { timeoutMs as deliveryTimeoutMs } from './endpoints.ts';

export interface RoleParts {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: SteadyClock;
  readonly log: Logger;
}

/** A running role, with everything that its process has beside it. */
export interface RunningRole {
  readonly role: Role;
  /** As a process does it on SIGTERM. */
  stop(): Promise<void>;
}

const graceMs = 15_000;
const hourMs = 3_600_000;
export const retryWindowMs: number = 4 * hourMs;
const dedupeWindowMs = 10 * 60_000;

export async function startSimulatedRouter(parts: RoleParts): Promise<RunningRole> {
  const config = await startConfig({ ...parts, secretKeys: undefined });
  const producer = await createProducer(parts.kafka, parts);
  const role = await startRouter({
    suppressed: new Map(),
    ...parts,
    config,
    producer,
    metrics: new Registry(),
    dedupeWindowMs,
  });
  return {
    role,
    stop: async () => {
      await role.stop(graceMs);
      await Promise.all([config.stop(), producer.close(0)]);
    },
  };
}

export async function startSimulatedWorker(
  parts: RoleParts,
  settings: {
    readonly sender: Sender;
    readonly maxInFlight: number;
    readonly deletionDelayMs: number;
    /** Undefined: as much as in production. */
    readonly budget: WindowLimits | undefined;
  },
): Promise<RunningRole> {
  const metrics = new Registry();
  const config = await startConfig({ ...parts, secretKeys: {} });
  const producer = await createProducer(parts.kafka, parts);
  const [fence, pauses] = await Promise.all([
    startFence(parts, settings.deletionDelayMs),
    followPauses(parts),
  ]);
  const all = { ...parts, metrics, config, producer, fence, pauses };
  const notices = startNotices({ ...all, disableAfterMs: undefined });
  const role = await startDelivery({
    ...all,
    ...settings,
    deliveryTimeoutMs,
    retryWindowMs,
    maxAgeMs: 72 * hourMs,
    attempts: 'all',
    maxInFlightPerDestination: 64,
  });
  return {
    role,
    stop: async () => {
      await Promise.all([notices.stop(), role.stop(graceMs)]);
      await Promise.all([config.stop(), fence.stop(), pauses.stop(), producer.close(0)]);
    },
  };
}
