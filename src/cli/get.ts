import { Argument, Option, type Command } from 'commander';
import { PostriderError } from '../errors.ts';
import { readStoredResources } from '../resources/config/config-topic.ts';
import {
  outputFormats,
  parseKind,
  presentList,
  presentOne,
  type OutputFormat,
} from '../resources/present.ts';
import { maskResource } from '../resources/config/stored.ts';
import { ofKind } from '../resources/config/stored-resources.ts';
import type { Context } from './context.ts';

/** `postrider get`: resources as they are stored. */
export function registerGet(program: Command, context: Context): void {
  program
    .command('get')
    .description('show resources; secrets are never printed')
    .addArgument(new Argument('<kind>', 'source, destination, audience or computed-trait'))
    .addArgument(new Argument('[id]', 'only this one'))
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(outputFormats).default('table'),
    )
    .action((kind: string, id: string | undefined, options: { output: OutputFormat }) =>
      get(context, kind, id, options.output),
    );
}

async function get(
  context: Context,
  kindName: string,
  id: string | undefined,
  format: OutputFormat,
): Promise<void> {
  const kind = parseKind(kindName);
  const { kafka, log } = context;
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  const found = ofKind(stored, kind).filter(({ name }) => id === undefined || name.id === id);
  if (id !== undefined && found.length === 0)
    throw new PostriderError('not-found', `there is no ${kind} ${id}`);
  const unreadable = found.filter(({ sealed }) => sealed === undefined);
  const readable = found.flatMap(({ sealed }) => sealed ?? []).map(maskResource);
  const [only] = readable;
  if (id === undefined) context.print(presentList(kind, readable, format));
  else if (only !== undefined) context.print(presentOne(only, format));
  if (unreadable.length === 0) return;
  const names = unreadable.map(({ name }) => `${name.kind} ${name.id}`).join(', ');
  throw new PostriderError('resource-invalid', `stored, but not readable: ${names}`);
}
