import type { Command } from 'commander';
import { PostriderError } from '../errors.ts';
import { checkSchema, incompatible, ingestSubject, registerSchema } from '../schemas/publish.ts';
import { RegistryClient } from '../schemas/registry-client.ts';
import type { Context } from './context.ts';
import { registryAccess } from './registry-access.ts';

interface SchemasOptions {
  readonly subject?: string;
}

/** `postrider schemas`: the project's own schema of calls, published for producers of typed records. */
export function registerSchemas(program: Command, context: Context): void {
  const schemas = program
    .command('schemas')
    .description('publish the schema of typed calls to the schema registry');

  withSubject(schemas.command('register'))
    .description('make it the latest version of its subject, which is kept BACKWARD compatible')
    .action((options: SchemasOptions) => register(context, options));

  withSubject(schemas.command('check'))
    .description('say whether it could become the latest version; exit with 1 if it breaks readers')
    .action((options: SchemasOptions) => check(context, options));
}

function withSubject(command: Command): Command {
  return command.option('--subject <name>', 'default: <prefix>ingest-value');
}

async function register(context: Context, options: SchemasOptions): Promise<void> {
  const { registry, subject } = targetOf(context, options);
  const id = await registerSchema(registry, subject);
  context.print(`${subject} has the schema ${id}`);
}

async function check(context: Context, options: SchemasOptions): Promise<void> {
  const { registry, subject } = targetOf(context, options);
  const { compatible, messages } = await checkSchema(registry, subject);
  if (!compatible) throw incompatible(subject, messages);
  context.print(`compatible with the latest version of ${subject}`);
}

function targetOf(
  { settings }: Context,
  options: SchemasOptions,
): { registry: RegistryClient; subject: string } {
  const access = registryAccess(settings);
  if (access === undefined) {
    const message = 'SCHEMA_REGISTRY_URL is not set, allowed: the URL of a schema registry';
    throw new PostriderError('setting-invalid', message);
  }
  const subject = options.subject ?? ingestSubject(`${settings.topicPrefix}ingest`);
  return { registry: new RegistryClient(access), subject };
}
