import type { RegistryAccess, RegistryTls } from '../../schemas/registry-client.ts';
import type { Settings } from '../../settings/table.ts';
import { readCertificates, readKeyPair } from './tls-files.ts';

/**
 * Undefined where no registry is configured.
 * @throws PostriderError `setting-invalid` for files that cannot be used
 */
export function registryAccess(settings: Settings): RegistryAccess | undefined {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistryPassword } = settings;
  if (url === undefined) return undefined;
  return {
    url,
    username: schemaRegistryUsername,
    password: schemaRegistryPassword,
    tls: tlsOf(settings),
  };
}

function tlsOf(settings: Settings): RegistryTls | undefined {
  const { schemaRegistrySslCaFile, schemaRegistrySslCertFile, schemaRegistrySslKeyFile } = settings;
  const ca =
    schemaRegistrySslCaFile === undefined
      ? undefined
      : readCertificates({ setting: 'SCHEMA_REGISTRY_SSL_CA_FILE', path: schemaRegistrySslCaFile });
  const own = readKeyPair(
    { setting: 'SCHEMA_REGISTRY_SSL_CERT_FILE', path: schemaRegistrySslCertFile },
    { setting: 'SCHEMA_REGISTRY_SSL_KEY_FILE', path: schemaRegistrySslKeyFile },
  );
  if (ca === undefined && own === undefined) return undefined;
  return { ...(ca === undefined ? {} : { ca }), ...own };
}
