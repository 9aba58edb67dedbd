import { systemClock } from '../../ops/clock.ts';
import { RegistryClient } from '../../schemas/registry-client.ts';
import { noRegistry, SchemaBook, type Schemas } from '../../schemas/schema-book.ts';
import type { Context } from '../context.ts';
import { registryAccess } from './registry-access.ts';

/** Schemas of typed records, for whoever looks at calls and nothing else. */
export function registrySchemas({
  settings,
  credentials,
}: Pick<Context, 'settings' | 'credentials'>): Schemas {
  const registry = registryAccess(settings, credentials);
  if (registry === undefined) return noRegistry;
  const client = new RegistryClient(registry);
  return new SchemaBook({
    fetchSchema: (id) => client.schemaOf(id),
    isAwake: (knownId) => client.isAwake(knownId),
    clock: systemClock,
    onDelay: () => undefined,
  });
}
