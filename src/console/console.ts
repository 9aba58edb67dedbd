import type { KafkaClient } from '../kafka/client.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import { portProblem } from '../ops/listen.ts';
import type { Role } from '../ops/role.ts';
import { waitAtMost } from '../ops/wait.ts';
import type { Topology } from '../topology.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { ServiceAccess } from '../dead-letter/service.ts';
import { PostriderError } from '../errors.ts';
import { createAccess, type AccessSettings } from './access/access.ts';
import type { IdentityOf } from './access/customer-link.ts';
import { Audit } from './actions/audit.ts';
import { createOperations, type SendTest } from '../operations/operations.ts';
import { addActions } from './actions/routes.ts';
import { addLinkActions } from './actions/links.ts';
import { addRunRoutes } from './actions/run-routes.ts';
import { Runs } from '../operations/runs.ts';
import { followCatalog, type EventCatalog } from './api/event-catalog.ts';
import { datedAt, sourceTimesOf } from './api/freshness.ts';
import type { RouteDeps } from './api/routes/route.ts';
import { addDeploymentRoutes } from './api/routes/deployment.ts';
import { addDestinationRoutes } from './api/routes/destinations.ts';
import { addEventRoutes } from './api/routes/events.ts';
import { addLetterRoutes } from './api/routes/letters.ts';
import { readBrand, type BrandSettings } from './brand/brand.ts';
import { loadPages } from './build-pages.ts';
import { createConsoleServer } from './api/server.ts';
import { usualBounds, type Bounds } from './index/bounds.ts';
import { ApiClient } from './manage/api-client.ts';
import { addPassOn } from './manage/pass-on.ts';
import { startIndex } from './index/index.ts';
import { followLiveState } from './index/live-state.ts';
import { ConsoleMetrics } from './metrics.ts';

export interface ConsoleDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly access: Omit<AccessSettings, 'passesOn' | 'brand'>;
  readonly brand: BrandSettings;
  /** The origin of the API, which changes destinations; undefined: nothing is changed by the console. */
  readonly apiUrl: string | undefined;
  /** The file with the kinds of events that customers may choose from; undefined: what came to them alone. */
  readonly eventsFile: string | undefined;
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** 0: any free one. */
  readonly port: number;
  /** The folder of the index, which can be deleted at any time. */
  readonly dataDir: string;
  readonly bounds?: Bounds;
  readonly explain: RouteDeps['explain'];
  /** For what operators may do with dead letters and pauses. */
  readonly services: ServiceAccess;
  readonly sendTest: SendTest;
  /** For what operators have done, and for the audit. */
  readonly producer: Pick<Producer, 'send'>;
}

export interface Console extends Role {
  readonly url: string;
}

/**
 * Follows Kafka, shows it to whoever may see it, and writes only what operators have done.
 * @throws PostriderError `setting-invalid` for a host, a port or a folder that cannot be had, `busy` for a
 * folder in use
 */
export async function startConsole(deps: ConsoleDeps): Promise<Console> {
  const { kafka, topology, clock, port, dataDir, bounds = usualBounds } = deps;
  const { explain, services, sendTest, producer } = deps;
  const log = deps.log.child({ role: 'console' });
  const metrics = new ConsoleMetrics(deps.metrics);
  const identityOf: IdentityOf = (id) => live.identityOf(id);
  const brand = readBrand(deps.brand, log);
  const client =
    deps.apiUrl === undefined
      ? undefined
      : new ApiClient(deps.apiUrl, (outcome) => {
          metrics.asked(outcome);
        });
  const access = createAccess(
    { ...deps.access, brand, passesOn: client !== undefined },
    {
      log,
      clock,
      identityOf,
      customerLinks: {
        get: (id, nowMs) => live.customersLinks.get(id, nowMs),
        byToken: (token, nowMs) => live.customersLinks.byToken(token, nowMs),
      },
      audit: {
        get links() {
          return audit.links;
        },
        tell: (entry) => {
          audit.tell(entry);
        },
        tellSeldom: (entry) => {
          audit.tellSeldom(entry);
        },
      },
    },
  );
  const { eventsFile } = deps;
  const catalog = eventsFile === undefined ? undefined : followCatalog(eventsFile, log);
  warnOfProxies(deps, log);
  const shared = { kafka, topology, log, clock };
  const live = await followLiveState(shared);
  metrics.watchCustomers(() => live.customers);
  const sourceOf = (writeKey: string): string | undefined => live.sourceOf(writeKey);
  const opening = startIndex({ ...shared, dir: dataDir, bounds, metrics, sourceOf });
  const index = await opening.catch(async (error: unknown) => {
    await live.stop();
    throw error;
  });
  const runs = new Runs(clock);
  const audit = await Audit.follow({
    kafka,
    topic: topology.topics.audit,
    producer,
    clock,
    log,
    onRecord: (record) => {
      access.audited(record);
    },
  });
  const stop = async (graceMs: number): Promise<void> => {
    await server.close();
    await waitAtMost(graceMs, runs.stop());
    await Promise.all([index.stop(), live.stop(), audit.stop(), client?.stop()]);
  };
  const server = await createConsoleServer({
    access,
    trustedProxies: deps.trustedProxies,
    log,
    pages: await loadPages(brand),
    frameAncestors: deps.access.frameAncestors,
    destinationsOf: (customer) => live.destinationsOf(customer),
    routes: (api) => {
      const offered = (): EventCatalog => catalog?.current() ?? [];
      const parts = { index, live, audit, kafka, topology, clock, explain, catalog: offered };
      addDestinationRoutes(api, parts);
      addLetterRoutes(api, parts);
      addEventRoutes(api, parts);
      addDeploymentRoutes(api, parts);
      addActions(api, {
        operations: createOperations(services, sendTest),
        runs,
        audit,
        destinationsOf: (customer) => live.destinationsOf(customer),
      });
      addRunRoutes(api, { index, audit, runs, clock });
      addLinkActions(api, { audit, clock, identityOf });
      if (client !== undefined)
        addPassOn(api, { client, credentialOf: (request) => access.credentialOf(request) });
    },
    dated: () => datedAt(sourceTimesOf({ live, index }), clock.now()),
    onFailure: (error) => {
      index.failed(error);
    },
    onAnswer: (status, seconds) => {
      metrics.answered(status, seconds);
    },
  });
  try {
    const url = await server.listen({ port, host: deps.access.host });
    if (access.isOpen) log.warn({ url }, 'log-in is off, so the console listens on loopback only');
    return { name: 'console', url, ready: () => true, stop };
  } catch (error) {
    await stop(0);
    throw hostProblem(error, deps.access.host) ?? portProblem(error, 'CONSOLE_PORT', port);
  }
}

/** Without their names, the console takes a proxy for the only client that it has. */
function warnOfProxies({ access, trustedProxies }: ConsoleDeps, log: Logger): void {
  if (access.url?.startsWith('https:') !== true || trustedProxies.length > 0) return;
  log.warn(
    {},
    'CONSOLE_URL is https, so a proxy is in front of the console, and CONSOLE_TRUSTED_PROXIES names none: everybody seems to come from the proxy, and ten wrong tokens of one person refuse the wrong ones of all',
  );
}

function hostProblem(error: unknown, host: string): PostriderError | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'EADDRNOTAVAIL' && code !== 'ENOTFOUND') return undefined;
  const sentence = `CONSOLE_HOST is ${host}, which is no address of this machine; allowed: one that it has, or 0.0.0.0 for all`;
  return new PostriderError('setting-invalid', sentence, { cause: error });
}
