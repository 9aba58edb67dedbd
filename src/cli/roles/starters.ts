import type { AccessSettings as ApiAccessSettings } from '../../api/access/access.ts';
import type { Api } from '../../api/api.ts';
import type { Console } from '../../console/console.ts';
import type { DeliveryDeps } from '../../delivery/worker.ts';
import type { Gateway, GatewayDeps } from '../../gateway/gateway.ts';
import type { Role } from '../../ops/role.ts';
import { AudienceGauges } from '../../resources/audiences/gauges.ts';
import { followAudienceRecords } from '../../resources/audiences/records.ts';
import { fenceMs, startFence } from '../../resources/fence/fence.ts';
import { followPauses } from '../../resources/pauses/pauses.ts';
import { followSuppressions } from '../../resources/suppressions/suppressed-users.ts';
import type { RouterDeps } from '../../router/router.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import type { Settings } from '../../settings/table.ts';
import { resourceBounds } from '../resources/plan-files.ts';
import { registryAccess } from '../connect/connection.ts';
import type { Context } from '../context.ts';
import type { SharedParts } from './shared-parts.ts';

/** Starts each role. A role takes no time and memory for the libraries of the others. */

/** In the folder where the role is started. */
const usualConsoleDir = '.cache/console';

export async function startGatewayRole(
  { settings, credentials }: Context,
  parts: SharedParts,
): Promise<Gateway> {
  const { startGateway } = await import('../../gateway/gateway.ts');
  const gateway = await startGateway({
    ...parts.withConfig,
    openProducer: (deliveryTimeoutMs) => parts.openProducer(deliveryTimeoutMs),
    tls: credentials.gatewayTls(),
    ...gatewaySettings(settings),
  });
  // It may have changed while the gateway waited for Kafka.
  const present = credentials.gatewayTls();
  if (present !== undefined) gateway.useTls(present);
  return gateway;
}

export async function startRouterRole(
  { settings, credentials }: Context,
  parts: SharedParts,
): Promise<Role> {
  const { startRouter } = await import('../../router/router.ts');
  const { kafka, topology, log, metrics } = parts.common;
  const gauges = new AudienceGauges(metrics);
  // A job has ended before it could be scraped.
  const audiences = followAudienceRecords(kafka, topology, log);
  audiences.onChange((id) => {
    gauges.show(id, audiences.current.get(id));
  });
  await parts.closeLast(audiences).loaded;
  const suppressions = parts.closeLast(await followSuppressions(parts.common));
  return startRouter({
    ...parts.withConfig,
    suppressed: suppressions.users,
    producer: await parts.producer(),
    dedupeWindowMs: settings.dedupeWindowMs,
    registry: registryAccess(settings, credentials),
  });
}

export async function startDeliveryRole({ settings }: Context, parts: SharedParts): Promise<Role> {
  const { startDelivery } = await import('../../delivery/worker.ts');
  const { openSender } = await import('../../delivery/http/http-sender.ts');
  const { startNotices } = await import('../../notices/notices.ts');
  const [fence, pauses] = await Promise.all([
    startFence(parts.common, settings.deletionDelayMs),
    followPauses(parts.common),
  ]);
  parts.closeLast(fence);
  parts.closeLast(pauses);
  const deps = { ...parts.withConfig, fence, pauses, producer: await parts.producer() };
  const notices = startNotices({ ...deps, disableAfterMs: settings.disableAfterMs });
  const sender = openSender({
    clock: deps.clock,
    timeoutMs: settings.deliveryTimeoutMs,
    allowNetworks: settings.deliveryAllowNetworks ?? [],
    proxyUrl: settings.deliveryProxy,
    withoutProxy: settings.deliveryNoProxy,
    keptAnswerBytes: settings.deliveryAnswerBytes,
  });
  const delivery = await startDelivery({ ...deps, sender, ...deliverySettings(settings) });
  return {
    ...delivery,
    stop: async (graceMs) => {
      await Promise.all([notices.stop(), delivery.stop(graceMs)]);
    },
  };
}

/** @param ownApi the URL of the API that this process started before, as `dev` does */
export async function startConsoleRole(
  context: Context,
  parts: SharedParts,
  ownApi?: string,
): Promise<Console> {
  const { startConsole } = await import('../../console/console.ts');
  const { consoleAccess, consoleBrand } = await import('../console/access.ts');
  const { testFromConsole } = await import('../console/send-test.ts');
  const { serviceAccess } = await import('../letters/letters.ts');
  const { consoleExplain } = await import('../console/explain.ts');
  const { settings } = context;
  return startConsole({
    ...parts.common,
    port: settings.consolePort,
    dataDir: settings.consoleDataDir ?? usualConsoleDir,
    access: consoleAccess(settings),
    brand: consoleBrand(settings),
    apiUrl: settings.consoleApiUrl ?? ownApi,
    eventsFile: settings.consoleEventsFile,
    trustedProxies: settings.consoleTrustedProxies,
    explain: await consoleExplain(context, parts.common.topology),
    services: await serviceAccess(context),
    sendTest: (access, id) => testFromConsole(context, access, id),
    producer: await parts.producer(),
  });
}

export async function startApiRole(context: Context, parts: SharedParts): Promise<Api> {
  const { startApi } = await import('../../api/api.ts');
  const { addressCheck } = await import('../api/address-check.ts');
  const { testFromConsole } = await import('../console/send-test.ts');
  const { serviceAccess } = await import('../letters/letters.ts');
  const { settings } = context;
  return startApi({
    ...parts.common,
    port: settings.apiPort,
    access: apiAccess(settings),
    bounds: resourceBounds(settings),
    secretKeys: createSecretKeys(settings.secretKey, settings.secretKeyPrevious),
    customers: {
      mostDestinations: settings.apiMaxDestinationsPerCustomer,
      sources: settings.apiCustomerSources,
    },
    refusedAddress: addressCheck(settings, parts.common.clock),
    services: await serviceAccess(context),
    sendTest: (access, id) => testFromConsole(context, access, id),
    fenceMs: fenceMs(settings),
    consoleUrl: settings.consoleUrl,
    trustedProxies: settings.apiTrustedProxies,
    producer: await parts.producer(),
  });
}

function apiAccess(settings: Settings): ApiAccessSettings {
  const { apiOidcIssuer: issuer, apiOidcConsoleClientId: clientId } = settings;
  return {
    host: settings.apiHost,
    tokensFile: settings.apiTokensFile,
    rateLimit: settings.apiRateLimit,
    oidc:
      issuer === undefined
        ? undefined
        : {
            issuer,
            audience: settings.apiOidcAudience,
            scopeClaim: settings.apiOidcScopeClaim,
            customersClaim: settings.apiOidcCustomersClaim,
            operators:
              clientId === undefined
                ? undefined
                : {
                    clientId,
                    roleClaim: settings.apiOidcRoleClaim,
                    values: settings.apiOidcOperators,
                  },
          },
  };
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
    deliveryTimeoutMs: settings.deliveryTimeoutMs,
    deletionDelayMs: settings.deletionDelayMs,
    retryWindowMs: settings.retryWindowMs,
    maxAgeMs: settings.maxAgeMs,
    attempts: settings.attempts,
    maxInFlight: settings.deliveryMaxInFlight,
    maxInFlightPerDestination: settings.deliveryMaxInFlightPerDestination,
  };
}
