import type { SteadyClock } from '../ops/clock.ts';
import type { RegistryAccess } from './registry-client.ts';
import { noRegistry, type Schemas } from './schemas.ts';

/**
 * The schemas of a registry, if there is one. What decodes them takes a tenth of a command's start to load, so it
 * is loaded only where there is a registry.
 * @param onDelay the registry did not return the schema, and is asked again
 */
export async function openSchemas(
  registry: (() => RegistryAccess) | undefined,
  clock: SteadyClock,
  onDelay: (id: number, error: unknown) => void = () => undefined,
): Promise<Schemas> {
  if (registry === undefined) return noRegistry;
  const { RegistryClient } = await import('./registry-client.ts');
  const { SchemaBook } = await import('./schema-book.ts');
  const client = new RegistryClient(registry);
  return new SchemaBook({
    fetchSchema: (id) => client.schemaOf(id),
    isAwake: (knownId) => client.isAwake(knownId),
    clock,
    onDelay,
  });
}
