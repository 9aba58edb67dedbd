import type { RegistryAccess } from '../schemas/registry-client.ts';
import type { Settings } from '../settings/table.ts';

/** Undefined where no registry is configured. */
export function registryAccess(settings: Settings): RegistryAccess | undefined {
  const { schemaRegistryUrl: url, schemaRegistryUsername, schemaRegistryPassword } = settings;
  if (url === undefined) return undefined;
  return { url, username: schemaRegistryUsername, password: schemaRegistryPassword };
}
