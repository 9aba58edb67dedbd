import { AnalyticsError } from './errors.ts';
import { checkText, invalid, isObject, readHttpUrl, refuseStrangers } from './invalid-option.ts';

export interface KafkaTransportOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Default `postrider.ingest`. */
  readonly topic?: string | undefined;
  /** Default `postrider-client`. */
  readonly clientId?: string | undefined;
  /** `true`, or PEM texts of an authority, a client certificate and its key. Default off. */
  readonly ssl?:
    | boolean
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
  readonly sasl?:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
        readonly username: string;
        readonly password: string;
      }
    | undefined;
  /**
   * A schema registry. Calls are written in Avro with the latest schema of the topic's subject, instead of as
   * JSON. Needs the package @kafkajs/confluent-schema-registry.
   */
  readonly registry?: RegistryOptions | undefined;
}

const known: Readonly<Record<keyof KafkaTransportOptions, true>> = {
  brokers: true,
  topic: true,
  clientId: true,
  ssl: true,
  sasl: true,
  registry: true,
};
const knownOfSsl = { ca: true, cert: true, key: true } as const;
const knownOfSasl = { mechanism: true, username: true, password: true } as const;
const mechanisms: readonly unknown[] = ['plain', 'scram-sha-256', 'scram-sha-512'];

/** @throws AnalyticsError `invalid-option` if calls could never be delivered */
export function readKafkaOptions(given: KafkaTransportOptions | undefined): KafkaTransportOptions {
  if (!isObject(given)) throw invalid('kafka', given, "{ brokers: ['host:port', …] }");
  refuseStrangers(given, known, 'kafka.');
  const { brokers, topic, ssl, sasl, registry } = given;
  if (!Array.isArray(brokers) || brokers.length === 0) {
    throw invalid('kafka.brokers', brokers, "['host:port', …]");
  }
  for (const [index, broker] of brokers.entries()) {
    if (isHostPort(broker)) continue;
    throw invalid(`kafka.brokers[${index}]`, withoutLogin(broker), "'host:port'");
  }
  if (topic !== undefined && !isTopicName(topic)) {
    throw invalid('kafka.topic', topic, "1 to 249 letters, digits, '.', '_' and '-'");
  }
  if (ssl !== undefined) checkSsl(ssl);
  if (sasl !== undefined) checkSasl(sasl);
  if (registry !== undefined) checkRegistry(registry);
  return given;
}

function checkSsl(given: unknown): void {
  if (typeof given === 'boolean') return;
  if (!isObject(given)) throw invalid('kafka.ssl', given, 'true, false or { ca, cert, key }');
  refuseStrangers(given, knownOfSsl, 'kafka.ssl.');
}

function checkSasl(given: unknown): void {
  if (!isObject(given)) {
    // Not shown: it may be a password.
    const message = 'kafka.sasl is not an object, allowed: { mechanism, username, password }.';
    throw new AnalyticsError('invalid-option', message);
  }
  refuseStrangers(given, knownOfSasl, 'kafka.sasl.');
  const { mechanism, username, password }: Partial<Record<string, unknown>> = { ...given };
  if (!mechanisms.includes(mechanism)) {
    throw invalid('kafka.sasl.mechanism', mechanism, mechanisms.join(', '));
  }
  checkText('kafka.sasl.username', username);
  checkText('kafka.sasl.password', password);
}

/** An address of IPv6 stands in brackets. */
function isHostPort(given: unknown): boolean {
  if (typeof given !== 'string') return false;
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:,/]+):(\d{1,5})$/.exec(given)?.[1];
  return Number(port) >= 1 && Number(port) <= 65_535;
}

/** Kafka's own rule. */
function isTopicName(given: unknown): boolean {
  return typeof given === 'string' && /^(?!\.{1,2}$)[\w.-]{1,249}$/.test(given);
}

/** A URL in the place of a broker may contain a password, and errors are logged. */
function withoutLogin(given: unknown): unknown {
  return typeof given === 'string' ? given.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@') : given;
}

export interface RegistryOptions {
  /** `http:` or `https:`; may have a path. */
  readonly url: string;
  /**
   * The subject whose latest schema calls are written with. Default: the topic's name followed by `-value`.
   */
  readonly subject?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM texts of an authority, a client certificate and its key. Default: the public authorities. */
  readonly ssl?:
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
}

const knownOfRegistry: Readonly<Record<keyof RegistryOptions, true>> = {
  url: true,
  subject: true,
  username: true,
  password: true,
  ssl: true,
};

/** @throws AnalyticsError `invalid-option` */
function checkRegistry(given: unknown): void {
  if (!isObject(given)) throw invalid('kafka.registry', given, "{ url: 'https://…' }");
  refuseStrangers(given, knownOfRegistry, 'kafka.registry.');
  const { url, subject, username, password, ssl }: Partial<Record<string, unknown>> = { ...given };
  readHttpUrl('kafka.registry.url', url);
  if (subject !== undefined) checkText('kafka.registry.subject', subject);
  if (username !== undefined || password !== undefined) {
    checkText('kafka.registry.username', username);
    checkText('kafka.registry.password', password);
  }
  if (ssl === undefined) return;
  if (!isObject(ssl)) throw invalid('kafka.registry.ssl', ssl, '{ ca, cert, key }');
  refuseStrangers(ssl, knownOfSsl, 'kafka.registry.ssl.');
}
