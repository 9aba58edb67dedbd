import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Environment } from '../../environment.ts';
import type { KafkaOptions } from '../../kafka/client.ts';
import type { ConnectionProblem } from '../../kafka/reach.ts';
import type { RegistryAccess } from '../../schemas/registry-client.ts';
import { notSet } from '../../settings/misspelt.ts';
import type { Settings } from '../../settings/table.ts';
import type { Credentials } from './credentials.ts';

/**
 * The options of a connection to Kafka, from the settings.
 * @throws PostriderError `setting-invalid` without KAFKA_BROKERS, and for files that cannot be used
 */
export function kafkaOptions(
  settings: Settings,
  env: Environment,
  credentials: Credentials,
): KafkaOptions {
  if (settings.kafkaBrokers === undefined) throw notSet('KAFKA_BROKERS', 'host:port,…', env);
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername: username = '' } = settings;
  // What is wrong with files is told before anything is tried with them.
  if (settings.kafkaSsl) credentials.kafkaTls();
  return {
    brokers: settings.kafkaBrokers,
    clientId: `postrider-${hostname()}`,
    ...(settings.kafkaRack === undefined ? {} : { rack: settings.kafkaRack }),
    ...(settings.kafkaSsl ? { ssl: () => credentials.kafkaTls() } : {}),
    ...(mechanism === undefined
      ? {}
      : { sasl: () => ({ mechanism, username, password: credentials.kafkaPassword() }) }),
  };
}

/**
 * The access to the registry, as it is at the time of each call: the same object until something of
 * it has changed. Undefined if no registry is configured.
 * @throws PostriderError `setting-invalid` for files that cannot be used
 */
export function registryAccess(
  settings: Settings,
  credentials: Credentials,
): (() => RegistryAccess) | undefined {
  const { schemaRegistryUrl: url, schemaRegistryUsername: username } = settings;
  if (url === undefined) return undefined;
  const read = (): RegistryAccess => ({
    url,
    username,
    password: credentials.registryPassword(),
    tls: credentials.registryTls(),
  });
  let access = read();
  return () => {
    const now = read();
    if (!isDeepStrictEqual(now, access)) access = now;
    return access;
  };
}

/** One sentence that names the settings to look at. */
export function explainConnection(problem: ConnectionProblem, settings: Settings): string {
  const brokers = `the Kafka broker in KAFKA_BROKERS (${settings.kafkaBrokers?.join(',') ?? ''})`;
  switch (problem) {
    case 'broker-untrusted':
      return settings.kafkaSslCaFile === undefined
        ? `${brokers} presents a certificate of an authority that this machine does not trust; set KAFKA_SSL_CA_FILE to a file with the certificate of that authority`
        : `${brokers} presents a certificate of an authority that is not in KAFKA_SSL_CA_FILE (${settings.kafkaSslCaFile})`;
    case 'broker-certificate-expired':
      return `${brokers} presents a certificate that has expired or is not valid yet; renew it on the broker`;
    case 'broker-certificate-for-other-host':
      return `${brokers} presents a certificate for other host names; KAFKA_BROKERS must use one of them`;
    case 'client-certificate-refused':
      return settings.kafkaSslCertFile === undefined
        ? `${brokers} requires a client certificate; set KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE`
        : `${brokers} refuses the client certificate in KAFKA_SSL_CERT_FILE (${settings.kafkaSslCertFile}): it has expired, or the broker does not trust its authority`;
    case 'credentials-refused':
      return `${brokers} refuses the login with KAFKA_SASL_USERNAME "${settings.kafkaSaslUsername ?? ''}": the name, KAFKA_SASL_PASSWORD or KAFKA_SASL_MECHANISM is wrong`;
    case 'mechanism-not-offered':
      return `${brokers} does not offer KAFKA_SASL_MECHANISM ${settings.kafkaSaslMechanism ?? ''}`;
    case 'sasl-not-offered':
      return `${brokers} accepts no login on this port; unset KAFKA_SASL_MECHANISM, or use the port for logins`;
    case 'sasl-wanted':
      return `${brokers} requires a login; set KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD`;
    case 'tls-not-offered':
      return `${brokers} does not use TLS on this port; unset KAFKA_SSL, or use the port for TLS`;
    case 'tls-wanted':
      return `${brokers} accepts only TLS; set KAFKA_SSL=true`;
  }
}
