import type { Console } from '../../console/console.ts';
import type { DeliveryDeps } from '../../delivery/worker.ts';
import type { Gateway, GatewayDeps } from '../../gateway/gateway.ts';
import { AudienceGauges } from '../../resources/audiences/gauges.ts';
import { followAudienceRecords } from '../../resources/audiences/records.ts';
import type { Follower } from '../../kafka/follow/follower.ts';
import type { Notices } from '../../notices/notices.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { createProducer, type Producer } from '../../kafka/produce/producer.ts';
import { systemClock } from '../../ops/clock.ts';
import { tuneGarbageCollection } from '../../ops/garbage-collection.ts';
import { startOpsServer, type OpsServer } from '../../ops/http-server.ts';
import { createMetrics, exposeReady, type MetricsRegistry } from '../../ops/metrics.ts';
import type { Role } from '../../ops/role.ts';
import type { Config } from '../../resources/config/config.ts';
import { startConfig } from '../../resources/config/config-store.ts';
import { startFence, type FollowedFence } from '../../resources/fence/fence-store.ts';
import { followPauses, type FollowedPauses } from '../../resources/pauses/pauses.ts';
import { exposeConfig } from '../../resources/config/metrics.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import type { RouterDeps } from '../../router/router.ts';
import { describeSettings } from '../../settings/read.ts';
import type { Settings } from '../../settings/table.ts';
import type { RoleName } from '../../topology.ts';
import type { Context } from '../context.ts';
import { registryAccess } from '../connect/registry-access.ts';
import { producerHooks } from './producer-metrics.ts';
import { followCredentials } from './follow-credentials.ts';

/** Longer than an attempt (5 s) and a commit; Kubernetes' grace period must be longer still. */
const graceMs = 15_000;
/** In the folder where the role is started. */
const usualConsoleDir = '.cache/console';

/**
 * Roles that share a process: configuration, metrics, ops server, and the Kafka producer of all but the gateway.
 */
export interface RunningRoles {
  readonly ops: OpsServer;
  readonly metrics: MetricsRegistry;
  /** What `/readyz` says. */
  ready(): boolean;
  /** Where the gateway listens, if it is among them. */
  readonly gatewayUrl: string | undefined;
  /** Where the console listens, if it is among them. */
  readonly consoleUrl: string | undefined;
  /** Drains the roles, then closes what they shared. */
  stop(): Promise<void>;
}

/**
 * Starts the roles, and resolves when all are running. Waits for as long as Kafka is away.
 * @param describe how the settings are logged
 * @throws PostriderError for what a person has to mend: settings, topics, secrets
 */
export async function startRoles(
  context: Context,
  names: readonly RoleName[],
  describe: typeof describeSettings = describeSettings,
): Promise<RunningRoles> {
  // The console has no slow deliveries to fear, and takes less memory with Node's own rules.
  if (names.some((name) => name !== 'console')) tuneGarbageCollection();
  const { settings, log, kafka, credentials } = context;
  log.info({ settings: describe(settings) }, `starting ${names.join(' and ')}`);
  context.warnOfSettings();
  const metrics = createMetrics();
  const roles: Role[] = [];
  const isReady = (name: RoleName): boolean =>
    roles.some((role) => role.name === name && role.ready());
  const ready = (): boolean => names.every(isReady);
  exposeReady(metrics, () => names.map((name) => [name, isReady(name)]));
  const ops = await startOpsServer({ port: settings.opsPort, metrics, ready });
  let gateway: Gateway | undefined;
  const followed = followCredentials(credentials, {
    metrics,
    log,
    onGatewayTls: names.includes('gateway') ? (tls) => gateway?.useTls(tls) : undefined,
  });
  // Kafka may come later than its clients, so this waits, and says so.
  await context.reachKafka();
  const topology = await context.topology();
  const used = new Set(names.flatMap((name) => topology.usedBy[name]));
  await requireTopics(
    kafka,
    topology.all.filter(({ name }) => used.has(name)),
  );
  const shared = { kafka, topology, clock: systemClock, log, metrics };
  const hooks = producerHooks(metrics);
  const openProducer = (): Promise<Producer> =>
    createProducer(kafka, { clock: systemClock, log, hooks });
  let sharedProducer: Promise<Producer> | undefined;
  const producer = (): Promise<Producer> => (sharedProducer ??= openProducer());
  // The gateway and the router need no secret of the configuration, so they get no key to any.
  const secretKeys = names.includes('delivery')
    ? createSecretKeys(settings.secretKey, settings.secretKeyPrevious)
    : undefined;
  let config: Config | undefined;
  // The console shows no secret, and needs no key.
  if (names.some((name) => name !== 'console')) {
    config = await startConfig({ ...shared, secretKeys });
    exposeConfig(metrics, config);
  }
  const deps = (): typeof shared & { readonly config: Config } => {
    if (config === undefined) throw new Error('a role needs the configuration');
    return { ...shared, config };
  };
  let shownBy: Console | undefined;
  let fence: FollowedFence | undefined;
  let pauses: FollowedPauses | undefined;
  let notices: Notices | undefined;
  let audiences: Follower | undefined;
  // A role takes no time and memory for the libraries of the others.
  const starters: Record<RoleName, () => Promise<Role>> = {
    gateway: async () => {
      const { startGateway } = await import('../../gateway/gateway.ts');
      const tls = credentials.gatewayTls();
      gateway = await startGateway({ ...deps(), openProducer, tls, ...gatewaySettings(settings) });
      // It may have changed while the gateway waited for Kafka.
      const present = credentials.gatewayTls();
      if (present !== undefined) gateway.useTls(present);
      return gateway;
    },
    router: async () => {
      const { startRouter } = await import('../../router/router.ts');
      const gauges = new AudienceGauges(metrics);
      // A job has ended before it could be scraped.
      audiences = await followAudienceRecords(kafka, topology, log, (id, record) => {
        gauges.show(id, record);
      });
      return startRouter({
        ...deps(),
        producer: await producer(),
        dedupeWindowMs: settings.dedupeWindowMs,
        registry: registryAccess(settings, credentials),
      });
    },
    delivery: async () => {
      const { startDelivery } = await import('../../delivery/worker.ts');
      const { openSender } = await import('../../delivery/http/http-sender.ts');
      const { startNotices } = await import('../../notices/notices.ts');
      [fence, pauses] = await Promise.all([startFence(shared), followPauses(shared)]);
      const parts = { ...deps(), fence, pauses, producer: await producer() };
      notices = await startNotices({ ...parts, disableAfterMs: settings.disableAfterMs });
      const sender = openSender({
        clock: systemClock,
        timeoutMs: settings.deliveryTimeoutMs,
        allowNetworks: settings.deliveryAllowNetworks ?? [],
      });
      return startDelivery({ ...parts, sender, ...deliverySettings(settings) });
    },
    console: async () => {
      const { startConsole } = await import('../../console/console.ts');
      const { consoleAccess } = await import('../console/access.ts');
      const { consoleOperations } = await import('../console/operations.ts');
      const { consoleStages } = await import('../console/stages.ts');
      shownBy = await startConsole({
        ...shared,
        port: settings.consolePort,
        dataDir: settings.consoleDataDir ?? usualConsoleDir,
        access: consoleAccess(settings),
        trustedProxies: settings.consoleTrustedProxies,
        stages: await consoleStages(context, topology),
        operations: consoleOperations(context),
        producer: await producer(),
      });
      return shownBy;
    },
  };
  for (const name of names) roles.push(await starters[name]());
  const gatewayUrl = gateway?.url;
  const consoleUrl = shownBy?.url;
  log.info(
    { ops: ops.url, gateway: gatewayUrl, console: consoleUrl },
    `running ${names.join(' and ')}`,
  );

  const stop = async (): Promise<void> => {
    followed.stop();
    await Promise.all([notices?.stop(), ...roles.map((role) => role.stop(graceMs))]);
    // What Kafka has not acknowledged by now is not committed either: its next owner writes it again.
    await Promise.all([
      config?.stop(),
      fence?.stop(),
      pauses?.stop(),
      audiences?.stop(),
      (await sharedProducer)?.close(0),
    ]);
    await ops.close();
    log.info({}, 'stopped');
  };
  return { ops, metrics, ready, gatewayUrl, consoleUrl, stop };
}

function gatewaySettings(
  settings: Settings,
): Pick<GatewayDeps, 'port' | 'rateLimit' | 'corsOrigins' | 'trustedProxies'> {
  return {
    port: settings.gatewayPort,
    rateLimit: settings.gatewayRateLimit,
    corsOrigins: settings.gatewayCorsOrigins,
    trustedProxies: settings.gatewayTrustedProxies,
  };
}

function deliverySettings(
  settings: Settings,
): Omit<DeliveryDeps, keyof RouterDeps | 'fence' | 'pauses' | 'sender'> {
  return {
    timeoutMs: settings.deliveryTimeoutMs,
    retryWindowMs: settings.retryWindowMs,
    maxAgeMs: settings.maxAgeMs,
    attempts: settings.attempts,
    maxInFlight: settings.deliveryMaxInFlight,
    maxInFlightPerDestination: settings.deliveryMaxInFlightPerDestination,
  };
}
