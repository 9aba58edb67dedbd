import type { KafkaClient } from '../kafka/client.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { Clock } from '../ops/clock.ts';
import { portProblem } from '../ops/listen.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { Role } from '../ops/role.ts';
import { followStoredResources } from '../resources/config/config-topic.ts';
import type { Topology } from '../topology.ts';
import { createAccess, type AccessSettings } from './access/access.ts';
import { ApiMetrics } from './metrics.ts';
import { addDestinationRoutes } from './routes/destinations.ts';
import { createApiServer } from './server.ts';

export interface ApiDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly producer: Pick<Producer, 'send'>;
  readonly access: AccessSettings;
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** 0: any free one. */
  readonly port: number;
}

export interface Api extends Role {
  readonly url: string;
}

/**
 * Answers requests about sources and destinations, and writes what was changed.
 * @throws PostriderError `setting-invalid` for a host or a port that cannot be had
 */
export async function startApi(deps: ApiDeps): Promise<Api> {
  const { kafka, topology, port } = deps;
  const log = deps.log.child({ role: 'api' });
  const metrics = new ApiMetrics(deps.metrics);
  const access = createAccess(deps.access);
  const config = await followStoredResources({ kafka, topology, log });
  const server = await createApiServer({
    access,
    trustedProxies: deps.trustedProxies,
    log,
    routes: (api) => {
      addDestinationRoutes(api, { config });
    },
    onFailure: () => {
      metrics.failed();
    },
    onAnswer: (status, seconds) => {
      metrics.answered(status, seconds);
    },
  });
  const stop = async (): Promise<void> => {
    await server.close();
    await config.stop();
  };
  try {
    const url = await server.listen({ port, host: access.host });
    if (access.isOpen)
      log.warn({ url }, 'nobody needs a token, so the API listens on loopback only');
    return { name: 'api', url, ready: () => true, stop };
  } catch (error) {
    await stop();
    throw portProblem(error, 'API_PORT', port);
  }
}
