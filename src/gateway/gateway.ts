import type { SteadyClock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import { listenOnAll } from '../ops/listen.ts';
import type { Role } from '../ops/role.ts';
import type { Topology } from '../topology.ts';
import { ByteBudget } from './byte-budget.ts';
import { GatewayEvents } from './events.ts';
import { IngestWriter, type IngestProducer } from './ingest-writer.ts';
import { KnownKeys, type KeyConfig } from './known-keys.ts';
import { exposeState, GatewayMetrics } from './metrics.ts';
import { RateLimits } from './rate-limits.ts';
import { StrangersTime } from './strangers-time.ts';
import { createServer, useTls, type ServerOptions, type TlsKeyPair } from './server.ts';

export interface GatewayDeps extends ServerOptions {
  readonly topology: Topology;
  readonly config: KeyConfig;
  /** The gateway has a producer of its own, because only its records have a deadline. */
  readonly openProducer: (deliveryTimeoutMs: number) => Promise<IngestProducer>;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** 0: any free one. */
  readonly port: number;
  /** Calls a second of one write key; 0: no limit. */
  readonly rateLimit: number;
}

export interface Gateway extends Role {
  readonly url: string;
  /** Sets the certificate of new connections. Open ones stay as they are. */
  useTls(tls: TlsKeyPair): void;
}

/** Shorter than the 10 s after which the most impatient client gives its request up. */
const ackTimeoutMs = 5_000;
/** A thousand full batches of usual size. The process takes about three times as much memory. */
export const maxInFlightBytes: number = 64 * 1024 * 1024;

/**
 * Takes calls by HTTP and writes them to `ingest`; answers with success only when Kafka has them.
 * @throws PostriderError `setting-invalid` if the port is taken
 */
export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { topology, config, clock, metrics, rateLimit } = deps;
  const { ingest, ingestRejected } = topology.topics;
  const log = deps.log.child({ role: 'gateway' });
  const events = new GatewayEvents(log, new GatewayMetrics(metrics), clock);
  const producer = await deps.openProducer(ackTimeoutMs);
  const writer = new IngestWriter({ producer, rejectedTopic: ingestRejected, clock, events });
  const budget = new ByteBudget(maxInFlightBytes);
  exposeState(metrics, () => ({
    inFlightBytes: budget.usedBytes,
    kafkaAvailable: writer.isAvailable,
  }));
  const rateLimits = rateLimit === 0 ? undefined : new RateLimits(rateLimit, clock);
  const keys = new KnownKeys(config, clock);
  const topics = { ingest, ingestRejected };
  const strangersTime = new StrangersTime(clock);
  const server = createServer(
    { keys, writer, budget, rateLimits, strangersTime, topics, clock, events },
    deps,
  );
  const port = await listenOnAll(server, 'GATEWAY_PORT', deps.port);
  let stopping = false;
  return {
    name: 'gateway',
    url: `${deps.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    useTls: (tls) => {
      useTls(server, tls);
    },
    ready: () => !stopping,
    stop: async (graceMs) => {
      stopping = true;
      const timer = clock.after(graceMs, () => {
        server.server.closeAllConnections();
      });
      await server.close();
      timer.cancel();
      await writer.close(graceMs);
    },
  };
}
