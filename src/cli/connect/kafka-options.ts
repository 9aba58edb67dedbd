import { hostname } from 'node:os';
import type { Environment } from '../../environment.ts';
import type { KafkaOptions } from '../../kafka/client.ts';
import { notSet } from '../../settings/misspelt.ts';
import type { Settings } from '../../settings/table.ts';
import { readCertificates, readKeyPair } from './tls-files.ts';

/**
 * How to connect, from the settings.
 * @throws PostriderError `setting-invalid` without KAFKA_BROKERS, and for files that cannot be read
 */
export function kafkaOptions(settings: Settings, env: Environment): KafkaOptions {
  if (settings.kafkaBrokers === undefined) throw notSet('KAFKA_BROKERS', 'host:port,…', env);
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername, kafkaSaslPassword } = settings;
  const username = kafkaSaslUsername ?? '';
  const password = kafkaSaslPassword ?? '';
  return {
    brokers: settings.kafkaBrokers,
    clientId: `postrider-${hostname()}`,
    ...(settings.kafkaRack === undefined ? {} : { rack: settings.kafkaRack }),
    ...(settings.kafkaSsl ? { ssl: sslOf(settings) } : {}),
    ...(mechanism === undefined ? {} : { sasl: { mechanism, username, password } }),
  };
}

function sslOf(settings: Settings): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { kafkaSslCaFile, kafkaSslCertFile, kafkaSslKeyFile } = settings;
  const ca =
    kafkaSslCaFile === undefined
      ? undefined
      : readCertificates({ setting: 'KAFKA_SSL_CA_FILE', path: kafkaSslCaFile });
  const own = readKeyPair(
    { setting: 'KAFKA_SSL_CERT_FILE', path: kafkaSslCertFile },
    { setting: 'KAFKA_SSL_KEY_FILE', path: kafkaSslKeyFile },
  );
  return { ...(ca === undefined ? {} : { ca }), ...own };
}
