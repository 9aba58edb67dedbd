import type { Environment } from '../../environment.ts';
import { Followed } from '../../ops/followed.ts';
import type { Logger } from '../../ops/log.ts';
import { passwordReader } from '../../settings/read.ts';
import { settingsTable, type Settings } from '../../settings/table.ts';
import {
  readAuthorities,
  readKeyPair,
  type Authorities,
  type KeyPair,
  type NamedFile,
} from './tls-files.ts';

/** The label's values of `postrider_certificate_expires_timestamp_seconds`. */
export type CertificateName =
  'kafka-ca' | 'kafka-client' | 'registry-ca' | 'registry-client' | 'gateway';

/** The files with which a client speaks TLS; without `ca`, it trusts the public authorities. */
export interface TlsFiles {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/**
 * The certificates, keys and passwords that settings name files for, as the files are now. Whoever opens a
 * connection asks each time, so a broker that refuses the former ones meets the new ones at the next try. Files
 * are read from the first question on, which throws PostriderError `setting-invalid` for those that cannot be
 * used; from then on what was read before stays in use meanwhile.
 */
export interface Credentials {
  kafkaTls(): TlsFiles;
  kafkaPassword(): string;
  /** Undefined where no file is named. */
  registryTls(): TlsFiles | undefined;
  registryPassword(): string | undefined;
  /** Undefined: the gateway speaks plain HTTP. */
  gatewayTls(): KeyPair | undefined;
  /** Reads all files again. */
  look(): void;
  /** The time at which each certificate that is in use expires. */
  expiriesMs(): Iterable<readonly [CertificateName, number]>;
}

type FileField = Extract<keyof Settings, `${string}File`>;

export function createCredentials(settings: Settings, env: Environment, log: Logger): Credentials {
  const followed: Followed<unknown>[] = [];
  const certificates = new Map<CertificateName, Followed<{ readonly expiresMs: number }>>();

  /** Reads nothing before it is asked for the first time; then `onMade` is called. */
  const follow = <T>(
    what: string,
    read: () => T,
    onMade: (made: Followed<T>) => void = () => undefined,
  ): (() => T) => {
    let made: Followed<T> | undefined;
    return () => {
      if (made === undefined) {
        made = new Followed({ what, read, usedBy: 'new connections', log });
        followed.push(made);
        onMade(made);
      }
      return made.current();
    };
  };
  const certificate = <T extends { readonly expiresMs: number }>(
    name: CertificateName,
    what: string,
    read: () => T,
  ): (() => T) =>
    follow(what, read, (made) => {
      certificates.set(name, made);
    });
  const fileOf = (field: FileField): NamedFile | undefined => {
    const path = settings[field];
    return path === undefined ? undefined : { setting: settingsTable[field].name, path };
  };
  const authorities = (
    name: CertificateName,
    field: FileField,
  ): (() => Authorities | undefined) => {
    const file = fileOf(field);
    if (file === undefined) return nothing;
    return certificate(name, file.setting, () => readAuthorities(file));
  };
  const keyPair = (
    name: CertificateName,
    certField: FileField,
    keyField: FileField,
  ): (() => KeyPair | undefined) => {
    const [cert, key] = [fileOf(certField), fileOf(keyField)];
    if (cert === undefined || key === undefined) return nothing;
    const what = `${cert.setting} and ${key.setting}`;
    return certificate(name, what, () => readKeyPair(cert, key));
  };
  const password = (
    field: 'kafkaSaslPassword' | 'schemaRegistryPassword',
  ): (() => string | undefined) => {
    const read = passwordReader(field, env);
    if (read === undefined) return () => settings[field];
    return follow(`${settingsTable[field].name}_FILE`, read);
  };

  const kafkaCa = authorities('kafka-ca', 'kafkaSslCaFile');
  const kafkaClient = keyPair('kafka-client', 'kafkaSslCertFile', 'kafkaSslKeyFile');
  const kafkaPassword = password('kafkaSaslPassword');
  const registryCa = authorities('registry-ca', 'schemaRegistrySslCaFile');
  const registryClient = keyPair(
    'registry-client',
    'schemaRegistrySslCertFile',
    'schemaRegistrySslKeyFile',
  );
  return {
    kafkaTls: () => tlsFiles(kafkaCa(), kafkaClient()),
    kafkaPassword: () => kafkaPassword() ?? '',
    registryTls: () => {
      const [ca, client] = [registryCa(), registryClient()];
      return ca === undefined && client === undefined ? undefined : tlsFiles(ca, client);
    },
    registryPassword: password('schemaRegistryPassword'),
    gatewayTls: keyPair('gateway', 'gatewayTlsCertFile', 'gatewayTlsKeyFile'),
    look: () => {
      for (const each of followed) each.look();
    },
    *expiriesMs() {
      for (const [name, { value }] of certificates) yield [name, value.expiresMs] as const;
    },
  };
}

function nothing(): undefined {
  return undefined;
}

function tlsFiles(authorities: Authorities | undefined, own: KeyPair | undefined): TlsFiles {
  return {
    ...(authorities === undefined ? {} : { ca: authorities.ca }),
    ...(own === undefined ? {} : { cert: own.cert, key: own.key }),
  };
}
