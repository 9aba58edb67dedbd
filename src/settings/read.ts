import { readFileSync } from 'node:fs';
import { formatDuration } from '../duration.ts';
import { environment, type Environment } from '../environment.ts';
import { PostriderError } from '../errors.ts';
import { longestDelayMs } from '../event/tier-delay.ts';
import { formatRate } from '../resources/schema/texts.ts';
import { createTopology } from '../topology.ts';
import { isServiceLink } from './misspelt.ts';
import { settingsTable, type Setting, type Settings } from './table.ts';

/**
 * Reads every setting; all problems at once.
 * @throws PostriderError `setting-invalid`: each wrong setting's name, the value given (not for
 * secrets) and what is allowed.
 */
export function readSettings(env: Environment = environment): Settings {
  const problems: string[] = [];
  const entries = Object.entries(settingsTable).map(([field, setting]) => {
    return [field, readOne(setting as Setting<unknown>, env, problems)];
  });
  const settings = Object.freeze({
    ...(Object.fromEntries(entries) as Settings),
    ...debugLevel(env),
  });
  if (problems.length === 0) problems.push(...crossProblems(settings));
  if (problems.length > 0) throw new PostriderError('setting-invalid', problems.join('; '));
  return settings;
}

/** `DEBUG=postrider` is the field's habit; a given LOG_LEVEL wins. */
function debugLevel(env: Environment): Partial<Settings> {
  const wanted = env['DEBUG']?.split(',').includes('postrider') === true;
  return wanted && env[settingsTable.logLevel.name] === undefined ? { logLevel: 'debug' } : {};
}

/** The effective settings for the log at start; secrets only as `set` or `not set`. */
export function describeSettings(settings: Settings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settingsTable).map(([field, { name, secret: isSecret }]) => {
      const value = settings[field as keyof Settings];
      if (value === undefined) return [name, 'not set'];
      return [name, isSecret === true ? 'set' : show(field, value)];
    }),
  );
}

/** The value of each setting in an empty environment. */
export function describeDefaults(): Record<string, string> {
  const fallbacks = Object.entries(settingsTable).map(([field, { fallback }]) => [field, fallback]);
  return describeSettings(Object.fromEntries(fallbacks) as Settings);
}

/** The settings that differ from their defaults. */
export function describeChosenSettings(settings: Settings): Record<string, string> {
  const byDefault = describeDefaults();
  return Object.fromEntries(
    Object.entries(describeSettings(settings)).filter(([name, text]) => text !== byDefault[name]),
  );
}

function show(field: string, value: Exclude<Settings[keyof Settings], undefined>): string {
  const items = Array.isArray(value) ? value : [value];
  const spell = (item: unknown): string => {
    const isRate = field.endsWith('RateLimit');
    // As it is written where it is off.
    if (item === 0 && (isRate || field.includes('Ms'))) return '0';
    if (field.includes('Ms')) return formatDuration(item as number);
    return isRate ? formatRate(item as number) : String(item);
  };
  return items.map(spell).join(',');
}

function readOne<T>(setting: Setting<T>, env: Environment, problems: string[]): T {
  const given = givenText(setting, env, problems);
  if (given === undefined || (given === '' && setting.emptyAllowed !== true)) {
    return setting.fallback;
  }
  const value = setting.parse(given);
  if (value !== undefined) return value;
  const shown = setting.secret === true ? 'not valid' : `"${withoutLogin(given)}"`;
  problems.push(`${setting.name} is ${shown}, allowed: ${setting.allowed}`);
  return setting.fallback;
}

/**
 * Hides a login in a URL or broker: somebody may have put a password there although none is
 * allowed.
 */
function withoutLogin(given: string): string {
  return given.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@');
}

function givenText(
  setting: Setting<unknown>,
  env: Environment,
  problems: string[],
): string | undefined {
  const fileName = setting.secret === true ? secretFile(setting.name, env) : undefined;
  if (fileName === undefined) {
    const given = env[setting.name];
    // GATEWAY_PORT is `tcp://10.0.0.1:80` beside a service named `gateway`.
    return isServiceLink(setting.name, given) ? undefined : given;
  }
  try {
    return readFileSync(fileName, 'utf8').trimEnd();
  } catch {
    problems.push(`${setting.name}_FILE names "${fileName}", which cannot be read`);
    return undefined;
  }
}

function secretFile(name: string, env: Environment): string | undefined {
  const fileName = env[`${name}_FILE`];
  return fileName === '' ? undefined : fileName;
}

/**
 * Reads a password from its file, as it is at that moment; undefined where the settings name none.
 * The reader throws PostriderError `setting-invalid` while there is no password in the file.
 */
export function passwordReader(
  field: 'kafkaSaslPassword' | 'schemaRegistryPassword',
  env: Environment,
): (() => string) | undefined {
  const { name } = settingsTable[field];
  const fileName = secretFile(name, env);
  if (fileName === undefined) return undefined;
  return () => {
    const problems: string[] = [];
    const password = givenText(settingsTable[field], env, problems);
    if (password !== undefined && password !== '') return password;
    const [problem = `${name}_FILE names "${fileName}", which is empty`] = problems;
    throw new PostriderError('setting-invalid', problem);
  };
}

function crossProblems(settings: Settings): string[] {
  const problems = [...retryProblems(settings), ...ingestTopicProblems(settings)];
  if ((settings.kafkaSslCertFile === undefined) !== (settings.kafkaSslKeyFile === undefined)) {
    problems.push('KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE are allowed only together');
  }
  if (!settings.kafkaSsl) problems.push(...unusedFiles(settings));
  if ((settings.gatewayTlsCertFile === undefined) !== (settings.gatewayTlsKeyFile === undefined)) {
    problems.push('GATEWAY_TLS_CERT_FILE and GATEWAY_TLS_KEY_FILE are allowed only together');
  }
  problems.push(...registryTlsProblems(settings));
  problems.push(...consoleProblems(settings), ...apiProblems(settings));
  const { schemaRegistryUsername, schemaRegistryPassword } = settings;
  if ((schemaRegistryUsername === undefined) !== (schemaRegistryPassword === undefined)) {
    problems.push(
      'SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD are allowed only together',
    );
  }
  const { kafkaSaslMechanism, kafkaSaslUsername, kafkaSaslPassword } = settings;
  const sasl = [kafkaSaslMechanism, kafkaSaslUsername, kafkaSaslPassword];
  if (sasl.includes(undefined) && sasl.some((part) => part !== undefined)) {
    problems.push(
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD are allowed only together',
    );
  }
  return problems;
}

function retryProblems({ retryTiersMs, retryWindowMs }: Settings): string[] {
  const window = `RETRY_WINDOW (${formatDuration(retryWindowMs)})`;
  const longestTierMs = retryTiersMs.at(-1) ?? 0;
  if (longestTierMs > retryWindowMs) {
    return [`RETRY_TIERS goes up to ${formatDuration(longestTierMs)}, allowed: up to ${window}`];
  }
  const shortestTierMs = retryTiersMs[0] ?? 0;
  const latestMs = longestDelayMs(shortestTierMs);
  if (latestMs <= retryWindowMs) return [];
  // No retry would ever be in time: every event would be given up at its first failure.
  const retry = `whose retry may come ${formatDuration(latestMs)} later`;
  return [
    `RETRY_TIERS begins with ${formatDuration(shortestTierMs)}, ${retry}, allowed: within ${window}`,
  ];
}

/** A router that reads a topic that it or a worker writes to would route the same calls for ever. */
function ingestTopicProblems(settings: Settings): string[] {
  const { topicPrefix: prefix, topicPartitions: partitions, retryTiersMs } = settings;
  const topology = createTopology({
    prefix,
    partitions,
    replicationFactor: 1,
    retryTiersMs,
    extraIngestTopics: [],
  });
  const own = settings.ingestTopics.filter((name) => topology.owns(name));
  if (own.length === 0) return [];
  const which =
    own.length === 1
      ? 'which is a topic of this deployment itself'
      : 'which are topics of this deployment itself';
  const names = own.map((name) => `"${name}"`).join(', ');
  return [
    `INGEST_TOPICS names ${names}, ${which} (TOPIC_PREFIX is "${prefix}"), allowed: topics of other programs`,
  ];
}

/**
 * Finds certificates that are named without TLS: their owner believes that connections are
 * encrypted.
 */
function unusedFiles(settings: Settings): string[] {
  const fields = ['kafkaSslCaFile', 'kafkaSslCertFile', 'kafkaSslKeyFile'] as const;
  return fields
    .filter((field) => settings[field] !== undefined)
    .map((field) => `${settingsTable[field].name} is given, allowed: only with KAFKA_SSL=true`);
}

function registryTlsProblems(settings: Settings): string[] {
  const { schemaRegistryUrl, schemaRegistrySslCertFile, schemaRegistrySslKeyFile } = settings;
  const problems =
    (schemaRegistrySslCertFile === undefined) === (schemaRegistrySslKeyFile === undefined)
      ? []
      : [
          'SCHEMA_REGISTRY_SSL_CERT_FILE and SCHEMA_REGISTRY_SSL_KEY_FILE are allowed only together',
        ];
  if (/^https:/i.test(schemaRegistryUrl ?? '')) return problems;
  const fields = [
    'schemaRegistrySslCaFile',
    'schemaRegistrySslCertFile',
    'schemaRegistrySslKeyFile',
  ] as const;
  const unused = fields
    .filter((field) => settings[field] !== undefined)
    .map((field) => settingsTable[field].name)
    .map((name) => `${name} is given, allowed: only with a SCHEMA_REGISTRY_URL that is https`);
  return [...problems, ...unused];
}

/** Problems of log-in by OpenID Connect, which is set as a whole or not at all. */
function consoleProblems(settings: Settings): string[] {
  return [...framingProblems(settings), ...oidcProblems(settings)];
}

/** In a frame of another site, browsers send cookies only that were set by https. */
function framingProblems({ consoleFrameAncestors, consoleUrl }: Settings): string[] {
  if (consoleFrameAncestors.length === 0 || consoleUrl?.startsWith('https:') === true) return [];
  return ['CONSOLE_FRAME_ANCESTORS is set; allowed with a CONSOLE_URL that begins with https:'];
}

function oidcProblems(settings: Settings): string[] {
  const { consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret } = settings;
  const parts = [consoleOidcIssuer, consoleOidcClientId, consoleOidcClientSecret];
  if (parts.every((part) => part === undefined)) return [];
  if (parts.includes(undefined))
    return [
      'CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET are allowed only together',
    ];
  const problems: string[] = [];
  if (settings.consoleUrl === undefined)
    problems.push(
      'CONSOLE_URL is not set, allowed with CONSOLE_OIDC_ISSUER: the address that people are sent back to',
    );
  if (settings.consoleOidcOperators.length + settings.consoleOidcViewers.length === 0)
    problems.push(
      'CONSOLE_OIDC_OPERATORS and CONSOLE_OIDC_VIEWERS are not set, so nobody could log in; allowed: values of the claim in at least one',
    );
  return problems;
}

/** Problems of the identity provider of the API. */
function apiProblems(settings: Settings): string[] {
  const { apiOidcIssuer, apiOidcAudience, apiOidcConsoleClientId, apiOidcOperators } = settings;
  const isForOperators = apiOidcConsoleClientId !== undefined || apiOidcOperators.length > 0;
  if (apiOidcIssuer === undefined)
    return apiOidcAudience === undefined && !isForOperators
      ? []
      : [
          'API_OIDC_AUDIENCE, API_OIDC_CONSOLE_CLIENT_ID and API_OIDC_OPERATORS are allowed only with API_OIDC_ISSUER',
        ];
  if (isForOperators && (apiOidcConsoleClientId === undefined || apiOidcOperators.length === 0))
    return ['API_OIDC_CONSOLE_CLIENT_ID and API_OIDC_OPERATORS are allowed only together'];
  if (apiOidcAudience === undefined && !isForOperators)
    return [
      'API_OIDC_AUDIENCE is not set, so no token would be taken; allowed with API_OIDC_ISSUER: the audience of access tokens, or API_OIDC_CONSOLE_CLIENT_ID for the operators of the console',
    ];
  // An ID token, which every client of the console's gets, would count as an access token.
  if (apiOidcAudience !== undefined && apiOidcAudience === apiOidcConsoleClientId)
    return [
      `API_OIDC_AUDIENCE is ${apiOidcAudience}, allowed: another audience than API_OIDC_CONSOLE_CLIENT_ID`,
    ];
  return [];
}
