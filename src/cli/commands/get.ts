import { Argument, type Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { hintAt } from '../../near.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { parseKind, presentList, presentOne, type OutputFormat } from '../../resources/present.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import { maskResource, openResource } from '../../resources/config/stored.ts';
import { ofKind, type StoredResource } from '../../resources/config/stored-resources.ts';
import { beyondBounds } from '../../resources/schema/retry-rules.ts';
import { publicKeyOf } from '../../resources/signing-secret.ts';
import { formatPath } from '../../resources/problem.ts';
import type { Resource } from '../../resources/resource.ts';
import { readAudienceRecords } from '../../resources/audiences/records.ts';
import { presentHistory } from '../audiences/sync-report.ts';
import { overlapEnd } from '../../resources/secret-overlap.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Context } from '../context.ts';
import { withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider get`: resources as they are stored. */
export function registerGet(program: Command, context: Context): void {
  withOutput(program.command('get'))
    .description('show resources')
    .addArgument(
      new Argument('<kind>', 'source, destination, audience, computed-trait or notice-hook'),
    )
    .addArgument(new Argument('[id]', 'only this one'))
    .action((kind: string, id: string | undefined, options: OutputOptions) =>
      get(context, kind, id, options.output),
    );
}

function isSynced({ kind }: Resource): boolean {
  return kind === 'Audience' || kind === 'ComputedTrait';
}

async function printHistory(context: Context, id: string): Promise<void> {
  const records = await readAudienceRecords(context.kafka, await context.topology());
  const syncs = records.get(id)?.syncs ?? [];
  if (syncs.length > 0) context.print(`\n${presentHistory(syncs)}`);
}

/** The public key of a destination that signs with ed25519; undefined without `SECRET_KEY` as well. */
function publicKeyIn(
  { settings }: Context,
  [found]: readonly StoredResource[],
): string | undefined {
  const { secretKey, secretKeyPrevious } = settings;
  if (secretKey === undefined || found?.sealed === undefined) return undefined;
  const resource = openResource(found.sealed, createSecretKeys(secretKey, secretKeyPrevious));
  if (resource.kind !== 'Destination' || resource.signature === undefined) return undefined;
  return resource.sharedSecret === undefined ? undefined : publicKeyOf(resource.sharedSecret);
}

/** Lines that receivers and operators have to know, and resource files do not say. */
function remarksOn(
  resource: Resource,
  publicKey: string | undefined,
  { settings }: Context,
): readonly string[] {
  if (resource.kind !== 'Destination') return [];
  const until = overlapEnd(resource, systemClock.now());
  const beyond = beyondBounds(resource.retry ?? {}, settings);
  return [
    ...(publicKey === undefined ? [] : [`receivers verify with the public key ${publicKey}`]),
    ...(until === undefined ? [] : [`signed with the former secret as well until ${until}`]),
    ...beyond.map(({ path, reason }) => `${formatPath(['retry', ...path])} ${reason}`),
  ];
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
  const all = ofKind(stored, kind);
  const found = all.filter(({ name }) => id === undefined || name.id === id);
  if (id !== undefined && found.length === 0) {
    const known = all.map(({ name }) => name.id);
    throw new PostriderError('not-found', `there is no ${kind} ${id}${hintAt(id, known)}`);
  }
  const unreadable = found.filter(({ sealed }) => sealed === undefined);
  const readable = found.flatMap(({ sealed }) => sealed ?? []).map(maskResource);
  const [only] = readable;
  if (id === undefined) context.print(presentList(kind, readable, format));
  else if (only !== undefined) {
    const remarks = remarksOn(only, publicKeyIn(context, found), context);
    // Comments, so that the output can be applied.
    if (format === 'yaml') for (const line of remarks) context.print(`# ${line}`);
    context.print(presentOne(only, format));
    if (remarks.length > 0 && (format === 'table' || format === 'wide'))
      context.print(`\n${remarks.join('\n')}`);
    if ((format === 'table' || format === 'wide') && isSynced(only))
      await printHistory(context, only.id);
  }
  if (unreadable.length === 0) return;
  const names = unreadable.map(({ name }) => `${name.kind} ${name.id}`).join(', ');
  throw new PostriderError('resource-invalid', `stored, but not readable: ${names}`);
}
