import { formatDuration, parseDuration } from '../duration.ts';
import { keptAttempts, type KeptAttempts } from '../event/attempt-line.ts';
import { keptAnswerBytes } from '../event/limits.ts';
import { logFormats, logLevels } from '../ops/log.ts';
import { parseRate } from '../resources/schema/texts.ts';
import {
  boolean,
  frameAncestor,
  hostPort,
  issuerUrl,
  key,
  list,
  matching,
  nameOrNetwork,
  network,
  oneOf,
  origin,
  proxyUrl,
  text,
  tiers,
  webOrigin,
  webUrl,
} from './values.ts';

/** The environment variables as values, checked and frozen. */
export interface Settings {
  readonly kafkaBrokers: readonly string[] | undefined;
  readonly kafkaRack: string | undefined;
  readonly kafkaSsl: boolean;
  readonly kafkaSslCaFile: string | undefined;
  readonly kafkaSslCertFile: string | undefined;
  readonly kafkaSslKeyFile: string | undefined;
  readonly kafkaSaslMechanism: SaslMechanism | undefined;
  readonly kafkaSaslUsername: string | undefined;
  readonly kafkaSaslPassword: string | undefined;
  readonly topicPrefix: string;
  readonly topicPartitions: number;
  /** Undefined: 3, or as many as there are brokers. */
  readonly topicReplicationFactor: number | undefined;
  readonly ingestTopics: readonly string[];
  readonly schemaRegistryUrl: string | undefined;
  readonly schemaRegistryUsername: string | undefined;
  readonly schemaRegistryPassword: string | undefined;
  readonly schemaRegistrySslCaFile: string | undefined;
  readonly schemaRegistrySslCertFile: string | undefined;
  readonly schemaRegistrySslKeyFile: string | undefined;
  readonly secretKey: Buffer | undefined;
  readonly secretKeyPrevious: Buffer | undefined;
  readonly gatewayPort: number;
  readonly gatewayTlsCertFile: string | undefined;
  readonly gatewayTlsKeyFile: string | undefined;
  readonly gatewayCorsOrigins: readonly string[];
  readonly gatewayTrustedProxies: readonly string[];
  /** Calls a second of one write key; 0: no limit. */
  readonly gatewayRateLimit: number;
  readonly opsPort: number;
  readonly consolePort: number;
  /** The address, or the name, on which the console listens. */
  readonly consoleHost: string;
  /** Its public origin. */
  readonly consoleUrl: string | undefined;
  readonly consoleBrandName: string;
  /** `#rrggbb` */
  readonly consoleAccentColor: string | undefined;
  readonly consoleLogoFile: string | undefined;
  readonly consoleBackUrl: string | undefined;
  /** Origins whose pages may show a customer's pages in a frame. */
  readonly consoleFrameAncestors: readonly string[];
  readonly consoleEventsFile: string | undefined;
  /** The API's origin. */
  readonly consoleApiUrl: string | undefined;
  readonly consoleTrustedProxies: readonly string[];
  /** Undefined: one of each process. */
  readonly consoleSessionKey: Buffer | undefined;
  readonly consoleTokensFile: string | undefined;
  readonly consoleOidcIssuer: string | undefined;
  readonly consoleOidcClientId: string | undefined;
  readonly consoleOidcClientSecret: string | undefined;
  readonly consoleOidcScope: string;
  readonly consoleOidcRoleClaim: string;
  /** Values of that claim. */
  readonly consoleOidcOperators: readonly string[];
  readonly consoleOidcViewers: readonly string[];
  /** The folder of the console's index; undefined: `dev` and `demo` use a temporary folder. */
  readonly consoleDataDir: string | undefined;
  readonly apiPort: number;
  /** The address, or the name, on which the API listens; undefined: loopback only, unless its callers need tokens. */
  readonly apiHost: string | undefined;
  readonly apiTrustedProxies: readonly string[];
  readonly apiMaxDestinationsPerCustomer: number;
  /** Ids of sources; empty: all. */
  readonly apiCustomerSources: readonly string[];
  readonly apiTokensFile: string | undefined;
  readonly apiOidcIssuer: string | undefined;
  readonly apiOidcAudience: string | undefined;
  readonly apiOidcScopeClaim: string;
  readonly apiOidcCustomersClaim: string | undefined;
  readonly apiOidcConsoleClientId: string | undefined;
  readonly apiOidcRoleClaim: string;
  readonly apiOidcOperators: readonly string[];
  /** Requests a second of each caller. */
  readonly apiRateLimit: number;
  readonly deliveryTimeoutMs: number;
  readonly deletionDelayMs: number;
  readonly retryWindowMs: number;
  readonly retryTiersMs: readonly number[];
  readonly maxAgeMs: number;
  /** 0: duplicates are not looked for. */
  readonly dedupeWindowMs: number;
  readonly attempts: KeptAttempts;
  readonly deliveryAnswerBytes: number;
  /** The longest time without a delivery before a destination is paused; undefined: no limit. */
  readonly disableAfterMs: number | undefined;
  readonly deliveryMaxInFlight: number;
  readonly deliveryMaxInFlightPerDestination: number;
  /** CIDRs; an empty list is not the same as undefined: `dev` then allows loopback. */
  readonly deliveryAllowNetworks: readonly string[] | undefined;
  /** Undefined: requests go out directly. */
  readonly deliveryProxy: string | undefined;
  /** Names, addresses and CIDRs. */
  readonly deliveryNoProxy: readonly string[];
  /** The folder of the checkpoints of `audience-sync`. */
  readonly audienceCheckpointDir: string | undefined;
  /** The only folder that `audience-sync` reads lists from. */
  readonly audienceFilesDir: string;
  /** For one query of a database. */
  readonly audienceQueryTimeoutMs: number;
  readonly logLevel: (typeof logLevels)[number];
  readonly logFormat: (typeof logFormats)[number];
}

const saslMechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
type SaslMechanism = (typeof saslMechanisms)[number];

export interface Setting<T> {
  readonly name: string;
  /** The form of a value, as the end of «NAME is …, allowed: …». */
  readonly allowed: string;
  readonly fallback: T;
  /** Undefined where the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
  /** Never shown; may come from the file that `NAME_FILE` names. */
  readonly secret?: true;
  /** Set to nothing means something. */
  readonly emptyAllowed?: true;
}

type Table = { readonly [K in keyof Settings]: Setting<Settings[K]> };

const fiveSecondsMs = 5_000;
const fourHoursMs = 4 * 3_600_000;

/** One row a variable. What each decides is in descriptions.ts; docs/reference is made from both. */
export const settingsTable: Table = {
  kafkaBrokers: optional('KAFKA_BROKERS', 'host:port,…', list(hostPort)),
  kafkaRack: optional('KAFKA_RACK', 'a zone, as in broker.rack', text),
  kafkaSsl: { name: 'KAFKA_SSL', fallback: false, allowed: 'true or false', parse: boolean },
  kafkaSslCaFile: optional('KAFKA_SSL_CA_FILE', 'a path', text),
  kafkaSslCertFile: optional('KAFKA_SSL_CERT_FILE', 'a path', text),
  kafkaSslKeyFile: optional('KAFKA_SSL_KEY_FILE', 'a path', text),
  kafkaSaslMechanism: optional(
    'KAFKA_SASL_MECHANISM',
    saslMechanisms.join(', '),
    oneOf(saslMechanisms),
  ),
  kafkaSaslUsername: optional('KAFKA_SASL_USERNAME', 'a name', text),
  kafkaSaslPassword: secret('KAFKA_SASL_PASSWORD', 'a password', text),
  topicPrefix: {
    name: 'TOPIC_PREFIX',
    fallback: 'postrider.',
    allowed: 'letters, digits, ".", "_" and "-", at most 100',
    parse: matching(/^[\w.-]{1,100}$/),
  },
  topicPartitions: integer('TOPIC_PARTITIONS', 12, 1, 10_000),
  topicReplicationFactor: {
    ...integer('TOPIC_REPLICATION_FACTOR', 3, 1, 32),
    fallback: undefined,
  },
  ingestTopics: {
    name: 'INGEST_TOPICS',
    fallback: [],
    allowed: 'full topic names, separated by commas',
    parse: list(matching(/^[\w.-]{1,249}$/)),
  },
  schemaRegistryUrl: optional('SCHEMA_REGISTRY_URL', 'an http(s) URL without a password', webUrl),
  schemaRegistryUsername: optional('SCHEMA_REGISTRY_USERNAME', 'a name', text),
  schemaRegistryPassword: secret('SCHEMA_REGISTRY_PASSWORD', 'a password', text),
  schemaRegistrySslCaFile: optional('SCHEMA_REGISTRY_SSL_CA_FILE', 'a path', text),
  schemaRegistrySslCertFile: optional('SCHEMA_REGISTRY_SSL_CERT_FILE', 'a path', text),
  schemaRegistrySslKeyFile: optional('SCHEMA_REGISTRY_SSL_KEY_FILE', 'a path', text),
  secretKey: secret('SECRET_KEY', '32 bytes in base64', key),
  secretKeyPrevious: secret('SECRET_KEY_PREVIOUS', '32 bytes in base64', key),
  gatewayPort: integer('GATEWAY_PORT', 8080, 0, 65_535),
  gatewayTlsCertFile: optional('GATEWAY_TLS_CERT_FILE', 'a path', text),
  gatewayTlsKeyFile: optional('GATEWAY_TLS_KEY_FILE', 'a path', text),
  gatewayCorsOrigins: {
    name: 'GATEWAY_CORS_ORIGINS',
    fallback: [],
    allowed:
      'origins such as https://shop.example or https://*.shop.example, separated by commas, or *',
    parse: list(origin),
  },
  gatewayTrustedProxies: networks('GATEWAY_TRUSTED_PROXIES'),
  gatewayRateLimit: {
    name: 'GATEWAY_RATE_LIMIT',
    fallback: 5_000,
    allowed: 'calls in a time, e.g. 1000/s or 30/m; 0: no limit',
    parse: (given) => (given === '0' ? 0 : parseRate(given)),
  },
  opsPort: integer('OPS_PORT', 9464, 0, 65_535),
  consolePort: integer('CONSOLE_PORT', 8081, 0, 65_535),
  consoleHost: {
    name: 'CONSOLE_HOST',
    fallback: '127.0.0.1',
    allowed: 'an address or a name of this machine, e.g. 0.0.0.0',
    parse: matching(/^[\w.:-]{1,253}$/),
  },
  consoleUrl: optional(
    'CONSOLE_URL',
    'an http(s) URL without a path, e.g. https://console.shop.example',
    webOrigin,
  ),
  consoleBrandName: {
    name: 'CONSOLE_BRAND_NAME',
    fallback: 'Postrider',
    allowed: 'up to 60 characters in one line',
    parse: matching(/^(?!\s)[^\p{C}]{1,60}(?<!\s)$/u),
  },
  consoleAccentColor: {
    name: 'CONSOLE_ACCENT_COLOR',
    fallback: undefined,
    allowed: 'a color such as #1f4fd8',
    parse: matching(/^#[\da-f]{6}$/i),
  },
  consoleLogoFile: optional('CONSOLE_LOGO_FILE', 'a path', text),
  consoleBackUrl: optional(
    'CONSOLE_BACK_URL',
    'an https URL without a password, on loopback also http',
    issuerUrl,
  ),
  consoleFrameAncestors: {
    name: 'CONSOLE_FRAME_ANCESTORS',
    fallback: [],
    allowed:
      'origins such as https://app.shop.example or https://*.shop.example, separated by commas',
    parse: list(frameAncestor),
  },
  consoleEventsFile: optional('CONSOLE_EVENTS_FILE', 'a path', text),
  consoleApiUrl: optional(
    'CONSOLE_API_URL',
    'an http(s) URL without a path, e.g. http://postrider-api:8082',
    webOrigin,
  ),
  consoleTrustedProxies: networks('CONSOLE_TRUSTED_PROXIES'),
  consoleSessionKey: secret('CONSOLE_SESSION_KEY', '32 bytes in base64', key),
  consoleTokensFile: optional('CONSOLE_TOKENS_FILE', 'a path', text),
  consoleOidcIssuer: optional(
    'CONSOLE_OIDC_ISSUER',
    'an https URL without a password, on loopback also http',
    issuerUrl,
  ),
  consoleOidcClientId: optional('CONSOLE_OIDC_CLIENT_ID', 'a name', text),
  consoleOidcClientSecret: secret('CONSOLE_OIDC_CLIENT_SECRET', 'a password', text),
  consoleOidcScope: {
    name: 'CONSOLE_OIDC_SCOPE',
    fallback: 'openid profile email',
    allowed: 'scopes separated by blanks, openid among them',
    parse: matching(/^(?:[!-~]+ )*openid(?: [!-~]+)*$/),
  },
  consoleOidcRoleClaim: claim('CONSOLE_OIDC_ROLE_CLAIM', 'roles'),
  consoleOidcOperators: values('CONSOLE_OIDC_OPERATORS'),
  consoleOidcViewers: values('CONSOLE_OIDC_VIEWERS'),
  consoleDataDir: optional('CONSOLE_DATA_DIR', 'a path', text),
  apiPort: integer('API_PORT', 8082, 0, 65_535),
  apiHost: optional(
    'API_HOST',
    'an address or a name of this machine, e.g. 0.0.0.0',
    matching(/^[\w.:-]{1,253}$/),
  ),
  apiTrustedProxies: networks('API_TRUSTED_PROXIES'),
  apiMaxDestinationsPerCustomer: integer('API_MAX_DESTINATIONS_PER_CUSTOMER', 20, 1, 100_000),
  apiCustomerSources: {
    name: 'API_CUSTOMER_SOURCES',
    fallback: [],
    allowed: 'ids of sources, separated by commas',
    parse: list(matching(/^[a-z0-9][a-z0-9-]{0,62}$/)),
  },
  apiTokensFile: optional('API_TOKENS_FILE', 'a path', text),
  apiOidcIssuer: optional(
    'API_OIDC_ISSUER',
    'an https URL without a password, on loopback also http',
    issuerUrl,
  ),
  apiOidcAudience: optional('API_OIDC_AUDIENCE', 'a name', text),
  apiOidcScopeClaim: claim('API_OIDC_SCOPE_CLAIM', 'scope'),
  apiOidcCustomersClaim: optional(
    'API_OIDC_CUSTOMERS_CLAIM',
    'the name of a claim, or the way to it, e.g. shop.customers',
    text,
  ),
  apiOidcConsoleClientId: optional('API_OIDC_CONSOLE_CLIENT_ID', 'a name', text),
  apiOidcRoleClaim: claim('API_OIDC_ROLE_CLAIM', 'roles'),
  apiOidcOperators: values('API_OIDC_OPERATORS'),
  apiRateLimit: {
    name: 'API_RATE_LIMIT',
    fallback: 100,
    allowed: 'requests in a time, e.g. 100/s or 300/m',
    parse: parseRate,
  },
  deliveryTimeoutMs: duration('DELIVERY_TIMEOUT', fiveSecondsMs, 1, fiveSecondsMs),
  deletionDelayMs: duration('DELETION_DELAY', 30_000, fiveSecondsMs, 300_000),
  retryWindowMs: duration('RETRY_WINDOW', fourHoursMs, 1, fourHoursMs),
  retryTiersMs: {
    name: 'RETRY_TIERS',
    fallback: [10_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000],
    allowed: 'durations, shortest first, each once, e.g. 10s,1m,5m,15m,30m,1h',
    parse: tiers,
  },
  maxAgeMs: duration('MAX_AGE', 3 * 86_400_000, 60_000, 7 * 86_400_000),
  dedupeWindowMs: orOff(duration('DEDUPE_WINDOW', 600_000, 1_000, 86_400_000)),
  attempts: {
    name: 'ATTEMPTS',
    fallback: 'all',
    allowed: keptAttempts.join(', '),
    parse: oneOf(keptAttempts),
  },
  deliveryAnswerBytes: integer(
    'DELIVERY_ANSWER_BYTES',
    keptAnswerBytes.usual,
    0,
    keptAnswerBytes.most,
  ),
  disableAfterMs: {
    ...duration('DISABLE_AFTER', 0, 60_000, 90 * 86_400_000),
    fallback: undefined,
  },
  deliveryMaxInFlight: integer('DELIVERY_MAX_IN_FLIGHT', 1024, 1, 100_000),
  deliveryMaxInFlightPerDestination: integer(
    'DELIVERY_MAX_IN_FLIGHT_PER_DESTINATION',
    64,
    1,
    100_000,
  ),
  deliveryAllowNetworks: {
    ...optional(
      'DELIVERY_ALLOW_NETWORKS',
      'networks, e.g. 127.0.0.0/8,::1/128, or nothing',
      list(network),
    ),
    emptyAllowed: true,
  },
  deliveryProxy: secret(
    'DELIVERY_PROXY',
    'a URL such as http://proxy:3128 or http://user:password@proxy:3128',
    proxyUrl,
  ),
  deliveryNoProxy: {
    name: 'DELIVERY_NO_PROXY',
    fallback: [],
    allowed: 'names, addresses and networks, e.g. crm.example,10.0.0.0/8',
    parse: list(nameOrNetwork),
  },
  audienceCheckpointDir: optional('AUDIENCE_CHECKPOINT_DIR', 'a path', text),
  audienceFilesDir: { name: 'AUDIENCE_FILES_DIR', fallback: '.', allowed: 'a path', parse: text },
  audienceQueryTimeoutMs: duration('AUDIENCE_QUERY_TIMEOUT', 1_800_000, 1_000, 86_400_000),
  logLevel: {
    name: 'LOG_LEVEL',
    fallback: 'info',
    allowed: logLevels.join(', '),
    parse: oneOf(logLevels),
  },
  logFormat: {
    name: 'LOG_FORMAT',
    fallback: process.stderr.isTTY ? 'pretty' : 'json',
    allowed: logFormats.join(', '),
    parse: oneOf(logFormats),
  },
};

function optional<T>(
  name: string,
  allowed: string,
  parse: (given: string) => T | undefined,
): Setting<T | undefined> {
  return { name, allowed, parse, fallback: undefined };
}

function secret<T>(
  name: string,
  allowed: string,
  parse: (given: string) => T | undefined,
): Setting<T | undefined> {
  return { ...optional(name, allowed, parse), secret: true };
}

function networks(name: string): Setting<readonly string[]> {
  const allowed = 'networks, e.g. 10.0.0.0/8,fd00::/8';
  return { name, allowed, parse: list(network), fallback: [] };
}

/** A setting that lists values of a claim. */
function claim(name: string, fallback: string): Setting<string> {
  const allowed = 'the name of a claim, or the way to it, e.g. realm_access.roles';
  return { name, fallback, allowed, parse: text };
}

function values(name: string): Setting<readonly string[]> {
  return {
    name,
    fallback: [],
    allowed: 'values of the claim, separated by commas',
    parse: list((given) => (given === '' ? undefined : given)),
  };
}

function integer(name: string, fallback: number, least: number, most: number): Setting<number> {
  const parse = (given: string): number | undefined => {
    const value = /^\d{1,9}$/.test(given) ? Number(given) : NaN;
    return value >= least && value <= most ? value : undefined;
  };
  return { name, fallback, parse, allowed: `a whole number from ${least} to ${most}` };
}

function orOff({ parse, allowed, ...setting }: Setting<number>): Setting<number> {
  return {
    ...setting,
    parse: (given) => (given === '0' ? 0 : parse(given)),
    allowed: `${allowed}, or 0 for none`,
  };
}

function duration(
  name: string,
  fallbackMs: number,
  leastMs: number,
  mostMs: number,
): Setting<number> {
  const parse = (given: string): number | undefined => {
    const valueMs = parseDuration(given) ?? NaN;
    return valueMs >= leastMs && valueMs <= mostMs ? valueMs : undefined;
  };
  const allowed = `a duration such as 250ms, 10s, 5m or 4h, from ${formatDuration(leastMs)} to ${formatDuration(mostMs)}`;
  return { name, fallback: fallbackMs, parse, allowed };
}
