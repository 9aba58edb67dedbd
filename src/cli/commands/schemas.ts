import type { Command } from 'commander';
import { checkSchema, incompatible, ingestSubject, registerSchema } from '../../schemas/publish.ts';
import type { RegistryClient } from '../../schemas/registry-client.ts';
import { notSet } from '../../settings/misspelt.ts';
import type { Context } from '../context.ts';
import { registryAccess } from '../connect/connection.ts';

interface SchemasOptions {
  readonly subject?: string;
}

/** `postrider schemas`: the project's own schema of calls, published for producers of typed records. */
export function registerSchemas(program: Command, context: Context): void {
  const schemas = program
    .command('schemas')
    .description('publish or check the schema of typed calls in the schema registry');

  withSubject(schemas.command('register'))
    .description('publish the schema as the latest version of its subject')
    .action((options: SchemasOptions) => register(context, options));

  withSubject(schemas.command('check'))
    .description('check whether the schema could become the latest version')
    .action((options: SchemasOptions) => check(context, options));
}

function withSubject(command: Command): Command {
  return command.option('--subject <name>', 'subject of the schema; default: <prefix>ingest-value');
}

/** Registries answer both alike. */
const noneSeen = 'no such subject, or this login has no right to see it';

async function register(context: Context, options: SchemasOptions): Promise<void> {
  const { registry, subject } = await targetOf(context, options);
  const { id, unseenBefore } = await registerSchema(registry, subject);
  const first = unseenBefore ? `; before, there was ${noneSeen}` : '';
  context.print(`${subject} has the schema ${id}${first}`);
}

async function check(context: Context, options: SchemasOptions): Promise<void> {
  const { registry, subject } = await targetOf(context, options);
  // One that has just started knows no subject yet, and says so here where it can.
  await registry.isAwake(undefined);
  const seen = await checkSchema(registry, subject);
  if (seen === undefined) {
    // No failure: so it is in a new project before its first `register`.
    context.print(`${subject}: nothing to compare with: the registry shows ${noneSeen}`);
    return;
  }
  if (!seen.compatible) throw incompatible(subject, seen.messages);
  context.print(`compatible with the latest version of ${subject}`);
}

async function targetOf(
  context: Context,
  options: SchemasOptions,
): Promise<{ registry: RegistryClient; subject: string }> {
  const { environment, settings, credentials } = context;
  const access = registryAccess(settings, credentials);
  if (access === undefined)
    throw notSet('SCHEMA_REGISTRY_URL', 'the URL of a schema registry', environment);
  context.warnOfSettings();
  const subject = options.subject ?? ingestSubject(`${settings.topicPrefix}ingest`);
  const { RegistryClient } = await import('../../schemas/registry-client.ts');
  return { registry: new RegistryClient(access), subject };
}
