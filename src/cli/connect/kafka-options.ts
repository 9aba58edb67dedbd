import { hostname } from 'node:os';
import type { Environment } from '../../environment.ts';
import type { KafkaOptions } from '../../kafka/client.ts';
import { notSet } from '../../settings/misspelt.ts';
import type { Settings } from '../../settings/table.ts';
import type { Credentials } from './credentials.ts';

/**
 * How to connect, from the settings.
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
