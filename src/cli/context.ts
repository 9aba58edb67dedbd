import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { PostriderError } from '../errors.ts';
import { withAdmin } from '../kafka/admin.ts';
import { createKafka, type KafkaClient } from '../kafka/client.ts';
import { createLogger, type Logger } from '../ops/log.ts';
import { environment, readSettings, type Environment } from '../settings/read.ts';
import type { Settings } from '../settings/table.ts';
import { createTopology, type Topology } from '../topology.ts';

/** What a command works with; each part is made at first use, so `--help` needs no settings. */
export interface Context {
  readonly environment: Environment;
  readonly settings: Settings;
  readonly log: Logger;
  /** @throws PostriderError `setting-invalid` without KAFKA_BROKERS */
  readonly kafka: KafkaClient;
  /** Asks the cluster for its size where TOPIC_REPLICATION_FACTOR is not set. */
  topology(): Promise<Topology>;
  /** One line of a command's answer, on stdout. */
  print(line: string): void;
  /** The same with some settings decided by the command, e.g. the brokers that `dev` started. */
  with(decided: Partial<Settings>): Context;
}

export function createContext(env: Environment = environment): Context {
  return contextOf(env, () => readSettings(env));
}

function contextOf(env: Environment, read: () => Settings): Context {
  const settings = once(read);
  const log = once(() =>
    createLogger({ level: settings().logLevel, format: settings().logFormat }),
  );
  const kafka = once(() => kafkaOf(settings(), log()));
  const topology = once(() => topologyOf(settings(), kafka()));
  return {
    environment: env,
    get settings() {
      return settings();
    },
    get log() {
      return log();
    },
    get kafka() {
      return kafka();
    },
    topology,
    print: (line) => {
      process.stdout.write(`${line}\n`);
    },
    with: (decided) => contextOf(env, () => Object.freeze({ ...settings(), ...decided })),
  };
}

function kafkaOf(settings: Settings, log: Logger): KafkaClient {
  if (settings.kafkaBrokers === undefined) {
    throw new PostriderError('setting-invalid', 'KAFKA_BROKERS is not set, allowed: host:port,…');
  }
  const { kafkaSaslMechanism: mechanism, kafkaSaslUsername, kafkaSaslPassword } = settings;
  const username = kafkaSaslUsername ?? '';
  const password = kafkaSaslPassword ?? '';
  return createKafka(
    {
      brokers: settings.kafkaBrokers,
      clientId: `postrider-${hostname()}`,
      ...(settings.kafkaSsl ? { ssl: sslOf(settings) } : {}),
      ...(mechanism === undefined ? {} : { sasl: { mechanism, username, password } }),
    },
    log,
  );
}

function sslOf(settings: Settings): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { kafkaSslCaFile, kafkaSslCertFile, kafkaSslKeyFile } = settings;
  return {
    ...(kafkaSslCaFile === undefined ? {} : { ca: readFile('KAFKA_SSL_CA_FILE', kafkaSslCaFile) }),
    ...(kafkaSslCertFile === undefined
      ? {}
      : { cert: readFile('KAFKA_SSL_CERT_FILE', kafkaSslCertFile) }),
    ...(kafkaSslKeyFile === undefined
      ? {}
      : { key: readFile('KAFKA_SSL_KEY_FILE', kafkaSslKeyFile) }),
  };
}

function readFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const message = `${setting} names "${path}", which cannot be read`;
    throw new PostriderError('setting-invalid', message, { cause });
  }
}

async function topologyOf(settings: Settings, kafka: KafkaClient): Promise<Topology> {
  const replicationFactor =
    settings.topicReplicationFactor ??
    Math.min(3, await withAdmin(kafka, (admin) => admin.brokerCount()));
  return createTopology({
    prefix: settings.topicPrefix,
    partitions: settings.topicPartitions,
    replicationFactor,
    retryTiersMs: settings.retryTiersMs,
    extraIngestTopics: settings.ingestTopics,
  });
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
