import { Counter, Histogram } from 'prom-client';
import type { KafkaClient } from '../kafka/client.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { Clock } from '../ops/clock.ts';
import { portProblem } from '../ops/listen.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { Role } from '../ops/role.ts';
import { waitAtMost } from '../ops/wait.ts';
import { createOperations, type OperationAccess, type SendTest } from '../operations/operations.ts';
import { Runs } from '../operations/runs.ts';
import { createUserOperations } from '../operations/users.ts';
import { AuditWriter } from '../http-api/audit-writer.ts';
import type { ResourceBounds } from '../resources/apply/desired.ts';
import { identitiesBefore, newIdentity } from '../resources/apply/identities.ts';
import { refuseWrongKey } from '../resources/apply/plan.ts';
import { ConfigWriter } from '../resources/config/config-writer.ts';
import { followStoredResources, type WithConfig } from '../resources/config/config-topic.ts';
import type { SecretKeys } from '../resources/config/secrets.ts';
import { readPauses } from '../resources/pauses/pauses.ts';
import { followCustomersLinks } from '../resources/customers/links.ts';
import type { Topology } from '../topology.ts';
import { ApiRuns } from './api-runs.ts';
import { AskedStates } from './asked-states.ts';
import { createAccess, type AccessSettings } from './access/access.ts';
import { ChangeQueue } from './change-queue.ts';
import type { CustomerSettings } from './customers.ts';
import { Directory } from './directory.ts';
import type { PlanningSettings } from './plan-change.ts';
import { requireAddresses, type RefusedAddress } from './refused-addresses.ts';
import { addLinkRoutes } from './routes/links.ts';
import { addOperationRoutes } from './routes/operations.ts';
import { addRedriveRoutes } from './routes/redrives.ts';
import { addResourceRoutes } from './routes/resources.ts';
import { addUserRoutes } from './routes/users.ts';
import { createApiServer } from './server.ts';
import { followRuns, ToldRuns } from './told-runs.ts';

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
  /** Settings that bound the content of resources; the time is the clock's. */
  readonly bounds: Omit<ResourceBounds, 'nowMs'>;
  readonly secretKeys: SecretKeys;
  readonly customers: CustomerSettings;
  readonly refusedAddress: RefusedAddress;
  /** For what can be done about destinations and users. */
  readonly services: Omit<OperationAccess, 'withConfig'>;
  readonly sendTest: SendTest;
  /** See `fenceMs`. */
  readonly fenceMs: number;
  /** The console's public address, where links to customers lead. */
  readonly consoleUrl: string | undefined;
}

export interface Api extends Role {
  readonly url: string;
}

/**
 * A change comes at once. At rest, each question to the brokers costs CPU time. Two of them fit in the time for which
 * the configuration is fresh.
 */
const configWaitMs = 800;
/** For topics of which nobody asks whether they are fresh. */
const seldom = { maxWaitMs: 2_000, freshMs: 10_000 } as const;

/**
 * Answers requests about sources and destinations, and writes what was changed.
 * @throws PostriderError `setting-invalid` for a host or a port that cannot be had
 */
export async function startApi(deps: ApiDeps): Promise<Api> {
  const { kafka, topology, clock, port, producer, bounds, secretKeys, customers } = deps;
  const { refusedAddress, sendTest, fenceMs, consoleUrl } = deps;
  const log = deps.log.child({ role: 'api' });
  const metrics = new ApiMetrics(deps.metrics);
  const access = createAccess(deps.access, { log, clock, links: () => links.current });
  const links = followCustomersLinks(kafka, { topic: topology.topics.links, log, ...seldom });
  const config = await followStoredResources({ kafka, topology, log, maxWaitMs: configWaitMs });
  refuseWrongKey(config.resources, secretKeys);
  const withConfig: WithConfig = async (use) => {
    await config.fresh();
    return use(config);
  };
  const services = { ...deps.services, withConfig };
  const writer = new ConfigWriter({ kafka, topology, log }, config);
  const directory = new Directory(config);
  // Read now, because it matters only where the topic is new.
  const identityOf = identitiesBefore(await readPauses(kafka, topology));
  const planning = (): PlanningSettings => ({
    plan: {
      ...bounds,
      nowMs: clock.now(),
      secretKeys,
      identityOf: config.isUntouched ? identityOf : newIdentity,
    },
    customers,
  });
  const audit = new AuditWriter({ topic: topology.topics.audit, producer, clock, log });
  const queue = new ChangeQueue({
    kafka,
    topology,
    writer,
    producer,
    audit,
    onWritten: (changes) => {
      metrics.written(changes);
    },
  });
  const told = new ToldRuns();
  const followedRuns = await followRuns(
    kafka,
    { topic: topology.topics.audit, log, ...seldom },
    told,
  );
  await links.loaded;
  const runs = new Runs(clock);
  const states = new AskedStates({ kafka, topology, clock, log });
  const server = await createApiServer({
    access,
    trustedProxies: deps.trustedProxies,
    log,
    routes: (api) => {
      addResourceRoutes(api, {
        directory,
        queue,
        planning,
        fresh: () => config.fresh(),
        states,
        nowMs: () => clock.now(),
        requireAddresses: (body, caller) => requireAddresses(body, caller, refusedAddress),
      });
      const apiRuns = new ApiRuns(runs, told, audit);
      const operations = createOperations(services, sendTest);
      addOperationRoutes(api, {
        operations,
        runs: apiRuns,
        audit,
        clock,
        customerOf: (id) => directory.customerOf(id),
      });
      addRedriveRoutes(api, { operations, runs: apiRuns, counts: runs, directory });
      const users = createUserOperations({ ...services, config, fenceMs });
      addUserRoutes(api, { users, runs: apiRuns, audit });
      addLinkRoutes(api, {
        links: () => links.current,
        audit,
        producer,
        topic: topology.topics.links,
        clock,
        consoleUrl,
      });
    },
    onFailure: () => {
      metrics.failed();
    },
    onAnswer: (status, seconds) => {
      metrics.answered(status, seconds);
    },
  });
  const stop = async (graceMs: number): Promise<void> => {
    await server.close();
    await waitAtMost(graceMs, runs.stop());
    writer.close();
    await Promise.all([config.stop(), links.stop(), followedRuns.stop(), states.stop()]);
  };
  try {
    const url = await server.listen({ port, host: access.host });
    if (access.isOpen)
      log.warn({ url }, 'nobody needs a token, so the API listens on loopback only');
    return { name: 'api', url, ready: () => true, stop };
  } catch (error) {
    await stop(0);
    throw portProblem(error, 'API_PORT', port);
  }
}

/** The metrics of the role. */
export class ApiMetrics {
  readonly #requests: Histogram<'status'>;
  readonly #failures: Counter;
  readonly #changes: Counter;

  constructor(registry: MetricsRegistry) {
    this.#requests = new Histogram({
      name: 'postrider_api_request_seconds',
      help: 'Time until a request to the API was answered, by its status.',
      labelNames: ['status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers: [registry],
    });
    // A share of something that never was is nothing, and no alert is made of that.
    for (const status of ['2xx', '4xx', '5xx']) this.#requests.zero({ status });
    this.#failures = new Counter({
      name: 'postrider_api_failures_total',
      help: 'Requests to the API that failed in a way that nobody expected; the log says why.',
      registers: [registry],
    });
    this.#changes = new Counter({
      name: 'postrider_api_changes_total',
      help: 'Changes of resources that the API has written, or found to be made already.',
      registers: [registry],
    });
  }

  written(changes: number): void {
    this.#changes.inc(changes);
  }

  answered(status: number, seconds: number): void {
    this.#requests.observe({ status: `${Math.floor(status / 100)}xx` }, seconds);
  }

  failed(): void {
    this.#failures.inc();
  }
}
