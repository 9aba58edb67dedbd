import type { Api } from '../../api/api.ts';
import type { Console } from '../../console/console.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { systemClock } from '../../ops/clock.ts';
import { tuneGarbageCollection } from '../../ops/process.ts';
import { startOpsServer, type OpsServer } from '../../ops/http-server.ts';
import { createMetrics, exposeReady, type MetricsRegistry } from '../../ops/metrics.ts';
import type { Role } from '../../ops/role.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { describeSettings } from '../../settings/read.ts';
import type { RoleName } from '../../topology.ts';
import type { Context } from '../context.ts';
import { followCredentials } from './follow-credentials.ts';
import { SharedParts } from './shared-parts.ts';
import {
  startApiRole,
  startConsoleRole,
  startDeliveryRole,
  startGatewayRole,
  startRouterRole,
} from './starters.ts';

/** Longer than an attempt (5 s) and a commit; Kubernetes' grace period must be longer still. */
const graceMs = 15_000;

/**
 * Roles that share a process: configuration, metrics, ops server, and the Kafka producer of all but the gateway.
 */
export interface RunningRoles {
  readonly ops: OpsServer;
  readonly metrics: MetricsRegistry;
  /** The answer of `/readyz`. */
  ready(): boolean;
  /** The URL on which the gateway listens, if it is among the roles. */
  readonly gatewayUrl: string | undefined;
  /** The URL on which the console listens, if it is among the roles. */
  readonly consoleUrl: string | undefined;
  /** The URL on which the API listens, if it is among the roles. */
  readonly apiUrl: string | undefined;
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
  const isPipeline = names.some((name) => name !== 'console' && name !== 'api');
  // The others have no slow deliveries to fear, and take less memory with Node's own rules.
  if (isPipeline) tuneGarbageCollection();
  const { settings, log, kafka, credentials } = context;
  log.info({ settings: describe(settings) }, `starting ${names.join(' and ')}`);
  context.warnOfSettings();
  const metrics = createMetrics();
  const roles: Role[] = [];
  const isReady = (name: RoleName): boolean =>
    roles.some((role) => role.name === name && role.ready());
  const ready = (): boolean => names.every(isReady);
  kafka.throttling.expose(metrics);
  exposeReady(metrics, () => names.map((name) => [name, isReady(name)]));
  const ops = await startOpsServer({ port: settings.opsPort, metrics, ready });
  let gateway: Gateway | undefined;
  let shownBy: Console | undefined;
  let api: Api | undefined;
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
  const parts = new SharedParts({ kafka, topology, clock: systemClock, log, metrics });
  // Console and API follow the topic in their own ways. Only delivery needs secrets, so no other role gets a key to any.
  if (isPipeline)
    await parts.followConfig(
      names.includes('delivery')
        ? createSecretKeys(settings.secretKey, settings.secretKeyPrevious)
        : undefined,
    );
  const starters: Record<RoleName, () => Promise<Role>> = {
    gateway: async () => (gateway = await startGatewayRole(context, parts)),
    router: () => startRouterRole(context, parts),
    delivery: () => startDeliveryRole(context, parts),
    console: async () => (shownBy = await startConsoleRole(context, parts, api?.url)),
    api: async () => (api = await startApiRole(context, parts)),
  };
  for (const name of names) roles.push(await starters[name]());
  const gatewayUrl = gateway?.url;
  const consoleUrl = shownBy?.url;
  const apiUrl = api?.url;
  log.info(
    { ops: ops.url, gateway: gatewayUrl, console: consoleUrl, api: apiUrl },
    `running ${names.join(' and ')}`,
  );

  const stop = async (): Promise<void> => {
    followed.stop();
    await Promise.all(roles.map((role) => role.stop(graceMs)));
    await parts.close();
    await ops.close();
    log.info({}, 'stopped');
  };
  return { ops, metrics, ready, gatewayUrl, consoleUrl, apiUrl, stop };
}
