import { isDeepStrictEqual } from 'node:util';
import type { RegistryAccess } from '../../schemas/registry-client.ts';
import type { Settings } from '../../settings/table.ts';
import type { Credentials } from './credentials.ts';

/**
 * How to reach the registry, as it is when it is asked: the same object until something of it has changed.
 * Undefined where none is configured.
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
