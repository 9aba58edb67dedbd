import { createPrivateKey } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import kafkajs from 'kafkajs';
import { freePorts } from '../harness/free-ports.ts';
import type { ExtraListener } from '../../src/dev/broker-config.ts';
import { startCluster } from '../../src/dev/broker.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import {
  makeAuthority,
  makeCertificate,
  type Certificate,
  type Issuer,
} from '../delivery/http/certificates.ts';
import { setScramPassword } from './scram-password.ts';
import { readKafkaUsers, type Right } from './kafka-users.ts';

/** A broker with every kind of protection, for principals with no rights but the given ones. */
export interface SecuredBroker {
  /** `host:port` without protection; whoever connects there may do everything. */
  readonly open: string;
  /** Its certificate is of `authority`. */
  readonly tls: string;
  /** Wants a certificate of `clientAuthority`, whose common name is the principal. */
  readonly mutual: string;
  /** SCRAM-SHA-512 and PLAIN over TLS, for the manifests' users and `app`, who may use all topics. */
  readonly sasl: string;
  /** As `sasl`, by SCRAM-SHA-512 alone; every login holds for `reauthenticateMs` only. */
  readonly reauthenticating: string;
  readonly reauthenticateMs: number;
  /** Its certificate has expired. */
  readonly expired: string;
  /** Its certificate is for another host. */
  readonly otherHost: string;
  /** PEM. */
  readonly authority: string;
  /** Path of a file. */
  readonly authorityFile: string;
  readonly strangerFile: string;
  readonly clientAuthority: Issuer;
  /** Writes a file into the broker's folder; its path. */
  file(name: string, text: string): Promise<string>;
  /** Gives a principal rights. */
  allow(principal: string, rights: readonly Right[]): Promise<void>;
  /** What the authorizer has said so far. */
  audit(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export const everything: readonly Right[] = [
  { type: 'topic', name: '*', prefix: false, operations: ['All'] },
  { type: 'group', name: '*', prefix: false, operations: ['All'] },
  { type: 'transactionalId', name: '*', prefix: false, operations: ['Describe', 'Write'] },
];

const listeners = ['TLS', 'MUTUAL', 'SASL', 'AGAIN', 'EXPIRED', 'OTHER'] as const;
/** kafkajs logs in again 10 s before a login ends. */
const reauthenticateMs = 11_500;
type ListenerName = (typeof listeners)[number];

let started: Promise<SecuredBroker> | undefined;

/** Started by the first who asks, and stopped after all tests of the process. */
export function securedBroker(): Promise<SecuredBroker> {
  started ??= start(['app', ...readKafkaUsers().map(({ name }) => name)]);
  return started;
}

after(async () => {
  await (await started)?.stop();
});

export function passwordOf(user: string): string {
  return `password-of-${user}`;
}

/** @param names who may log in by SCRAM-SHA-512 and PLAIN */
async function start(names: readonly string[]): Promise<SecuredBroker> {
  const users = Object.fromEntries(names.map((name) => [name, passwordOf(name)]));
  const folder = await mkdtemp(join(tmpdir(), 'postrider-secured-'));
  const file = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  const authority = makeAuthority('Kafka Authority');
  const clientAuthority = makeAuthority('Client Authority');
  const certificates: Readonly<Record<ListenerName, Certificate>> = {
    TLS: makeCertificate({ by: authority }),
    MUTUAL: makeCertificate({ by: authority }),
    SASL: makeCertificate({ by: authority }),
    AGAIN: makeCertificate({ by: authority }),
    EXPIRED: makeCertificate({ by: authority, validDays: [-9, -8] }),
    OTHER: makeCertificate({ by: authority, hosts: ['other.example'] }),
  };
  const ports = await freePorts(listeners.length);
  const addresses = {} as Record<ListenerName, string>;
  const extraListeners: ExtraListener[] = [];
  const properties: Record<string, string> = {
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // Controller and brokers talk to each other without protection, and tests prepare things there.
    'super.users': 'User:ANONYMOUS',
    'sasl.enabled.mechanisms': 'SCRAM-SHA-512,PLAIN',
    'listener.name.mutual.ssl.client.auth': 'required',
    'listener.name.mutual.ssl.truststore.type': 'PEM',
    'listener.name.mutual.ssl.truststore.location': await file('clients.pem', clientAuthority.cert),
    'listener.name.mutual.ssl.principal.mapping.rules': 'RULE:^CN=(.*)$/$1/',
    'listener.name.sasl.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'listener.name.again.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'listener.name.again.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.again.connections.max.reauth.ms': String(reauthenticateMs),
    'listener.name.sasl.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${Object.entries(
      users,
    )
      .map(([name, password]) => `user_${name}="${password}"`)
      .join(' ')};`,
  };
  for (const [index, name] of listeners.entries()) {
    const port = ports[index] ?? 0;
    addresses[name] = `127.0.0.1:${port}`;
    const hasLogins = name === 'SASL' || name === 'AGAIN';
    extraListeners.push({ name, port, protocol: hasLogins ? 'SASL_SSL' : 'SSL' });
    const prefix = `listener.name.${name.toLowerCase()}`;
    properties[`${prefix}.ssl.keystore.type`] = 'PEM';
    properties[`${prefix}.ssl.keystore.location`] = await file(
      `${name.toLowerCase()}.pem`,
      keystore(certificates[name]),
    );
  }
  const broker = await startCluster(1, {
    dataDir: folder,
    extra: {
      listeners: extraListeners,
      properties,
      logLevels: { 'kafka.authorizer.logger': 'debug' },
    },
  });
  const [open = ''] = broker.brokers;
  for (const name of names) await setScramPassword(open, name, passwordOf(name));
  await grant(broker.brokers, 'app', everything);
  return {
    open,
    tls: addresses.TLS,
    mutual: addresses.MUTUAL,
    sasl: addresses.SASL,
    reauthenticating: addresses.AGAIN,
    reauthenticateMs,
    expired: addresses.EXPIRED,
    otherHost: addresses.OTHER,
    authority: authority.cert,
    authorityFile: await file('authority.pem', authority.cert),
    strangerFile: await file('stranger.pem', makeAuthority('Unknown Authority').cert),
    clientAuthority,
    file,
    allow: (principal, rights) => grant(broker.brokers, principal, rights),
    audit: async () => {
      const log = await readFile(join(folder, 'node-1', 'kafka.log'), 'utf8');
      return log.split('\n').filter((line) => line.includes('kafka.authorizer.logger'));
    },
    stop: async () => {
      await broker.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function grant(
  brokers: readonly string[],
  principal: string,
  rights: readonly Right[],
): Promise<void> {
  const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
  const resourceTypes = {
    topic: AclResourceTypes.TOPIC,
    group: AclResourceTypes.GROUP,
    transactionalId: AclResourceTypes.TRANSACTIONAL_ID,
    cluster: AclResourceTypes.CLUSTER,
  };
  const acl = rights.flatMap(({ type, name, prefix, operations }) =>
    operations.map((operation) => ({
      principal: `User:${principal}`,
      host: '*',
      permissionType: AclPermissionTypes.ALLOW,
      operation: AclOperationTypes[snakeCase(operation) as keyof typeof AclOperationTypes],
      resourceType: resourceTypes[type],
      resourceName: type === 'cluster' ? 'kafka-cluster' : name,
      resourcePatternType: prefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
    })),
  );
  const admin = createKafka({ brokers, clientId: 'test' }, silentLogger).admin();
  await admin.connect();
  await admin.createAcls({ acl });
  await admin.disconnect();
}

/** `DescribeConfigs` as `DESCRIBE_CONFIGS`. */
function snakeCase(operation: string): string {
  return operation.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

/** Kafka reads keys in PKCS #8 only. */
function keystore({ cert, key }: Certificate): string {
  return createPrivateKey(key).export({ type: 'pkcs8', format: 'pem' }).toString() + cert;
}
