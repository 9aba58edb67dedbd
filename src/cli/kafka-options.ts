import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { PostriderError } from '../errors.ts';
import type { KafkaOptions } from '../kafka/client.ts';
import type { Settings } from '../settings/table.ts';

/**
 * How to connect, from the settings.
 * @throws PostriderError `setting-invalid` without KAFKA_BROKERS, and for files that cannot be read
 */
export function kafkaOptions(settings: Settings): KafkaOptions {
  if (settings.kafkaBrokers === undefined) {
    throw new PostriderError('setting-invalid', 'KAFKA_BROKERS is not set, allowed: host:port,…');
  }
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername, kafkaSaslPassword } = settings;
  const username = kafkaSaslUsername ?? '';
  const password = kafkaSaslPassword ?? '';
  return {
    brokers: settings.kafkaBrokers,
    clientId: `postrider-${hostname()}`,
    ...(settings.kafkaSsl ? { ssl: sslOf(settings) } : {}),
    ...(mechanism === undefined ? {} : { sasl: { mechanism, username, password } }),
  };
}

function sslOf(settings: Settings): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { kafkaSslCaFile, kafkaSslCertFile, kafkaSslKeyFile } = settings;
  return {
    ...(kafkaSslCaFile === undefined
      ? {}
      : { ca: readSettingFile('KAFKA_SSL_CA_FILE', kafkaSslCaFile) }),
    ...(kafkaSslCertFile === undefined
      ? {}
      : { cert: readSettingFile('KAFKA_SSL_CERT_FILE', kafkaSslCertFile) }),
    ...(kafkaSslKeyFile === undefined
      ? {}
      : { key: readSettingFile('KAFKA_SSL_KEY_FILE', kafkaSslKeyFile) }),
  };
}

export function readSettingFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const message = `${setting} names "${path}", which cannot be read`;
    throw new PostriderError('setting-invalid', message, { cause });
  }
}
